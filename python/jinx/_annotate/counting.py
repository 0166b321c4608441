"""The lengths of a block of samples: by an encoder, or by a function of the user. Pickled into processes."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jinx._annotate.encoder import Encoded, Encoder
from jinx._annotate.image_size import ShortHeaderError
from jinx._annotate.lengths import COUNTS, IDS, MASK, Block, ids_dtype
from jinx._dataset.reopen_with import reopen_with
from jinx.errors import InvalidError

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

# What the headers of nearly all images fit into.
_HEAD_BYTES = 16384
_MAX_COUNT = 1 << 32


class TokenCounter:
    """Counts with an encoder, from the text and the first bytes of the images.

    Args:
        dataset: The dataset; only the encoder's columns are read.
        encoder: The encoder.
        tokens: Whether token ids are kept.
    """

    def __init__(self, dataset: "Dataset", encoder: Encoder, *, tokens: bool) -> None:
        self.dataset = dataset.select_columns(encoder.columns)
        self._heads = reopen_with(self.dataset, value_head=_HEAD_BYTES) if encoder.image_column else self.dataset
        self._encoder = encoder
        self._dtype = ids_dtype(encoder.vocabulary) if tokens else None

    def count(self, start: int, stop: int) -> Block:
        """The lengths of the samples `start` to `stop`.

        Raises:
            InvalidError: A sample cannot be encoded.
        """
        import numpy as np

        found = self._encoder.encode(self._heads.take(range(start, stop)))
        short = [i for i, one in enumerate(found) if isinstance(one, ShortHeaderError)]
        for i, one in zip(short, self._encoder.encode(self.dataset.take([start + i for i in short])), strict=True):
            found[i] = one
        encoded = [_checked(one, start + i) for i, one in enumerate(found)]
        counts = [(len(one.input_ids), int(one.is_label.sum()), one.num_images, one.num_patches) for one in encoded]
        table = np.array(counts, dtype=np.int64).reshape(-1, len(COUNTS)).T
        if self._dtype is None:
            return Block(table)
        ids = np.concatenate([one.input_ids for one in encoded]).astype(self._dtype)
        return Block(table, ids, np.concatenate([one.is_label for one in encoded]))


class FunctionCounter:
    """Counts with a function of the sample.

    Args:
        dataset: The dataset.
        function: Returns the number of tokens, or a dict of counts and perhaps token ids.
        tokens: Whether token ids are kept.
    """

    def __init__(self, dataset: "Dataset", function: Callable[[Any], Any], *, tokens: bool) -> None:
        self.dataset = dataset
        self._function = function
        self._tokens = tokens

    def count(self, start: int, stop: int) -> Block:
        """As `TokenCounter.count`."""
        import numpy as np

        found: list[dict[str, Any]] = []
        for i, sample in enumerate(self.dataset.take(range(start, stop)), start):
            try:
                found.append(self._called(sample))
            except MemoryError:
                raise
            except Exception as error:
                raise at_sample(error, i) from error
        counts = [[one.get(name, 0) for name in COUNTS] for one in found]
        table = np.array(counts, dtype=np.int64).reshape(-1, len(COUNTS)).T
        if not self._tokens:
            return Block(table)
        return Block(table, np.concatenate([one[IDS] for one in found]), np.concatenate([one[MASK] for one in found]))

    def _called(self, sample: Any) -> dict[str, Any]:
        """What the function returns for a sample, checked."""
        import numpy as np

        try:
            returned: Any = self._function(sample)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:
            raise ValueError(f"{type(error).__name__} in the function: {error}") from error
        found: dict[str, Any] = {**returned} if isinstance(returned, Mapping) else {"num_tokens": returned}
        unknown = [name for name in found if name not in {*COUNTS, IDS, MASK}]
        if unknown:
            raise ValueError(
                f"the function returned {', '.join(map(repr, unknown))}; it may return {', '.join(COUNTS)}"
            )
        if IDS in found:
            ids = np.asarray(found[IDS], dtype=np.int64)
            mask = np.array(found.get(MASK, np.ones(len(ids))), dtype=np.bool_)
            if len(mask) != len(ids) or found.get("num_tokens", len(ids)) != len(ids):
                raise ValueError(
                    "the function returned token ids, label mask and number of tokens of different lengths"
                )
            mask[:1] = False
            found = {"num_label_tokens": int(mask.sum()), **found, "num_tokens": len(ids), IDS: ids, MASK: mask}
        elif self._tokens:
            raise ValueError(f"the function returned no {IDS}, which are to be kept")
        if "num_tokens" not in found:
            raise ValueError("the function returned no num_tokens")
        for name in COUNTS:
            value = found.get(name, 0)
            if not _is_count(value):
                raise ValueError(
                    f"the function returned {name}={value!r}; counts are whole numbers from 0 to 2**32 - 1"
                )
        return found


def _is_count(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and int(value) == value and 0 <= value < _MAX_COUNT
    except (TypeError, ValueError, OverflowError):  # not a number, NaN, infinity
        return False


def _checked(one: Encoded | Exception, position: int) -> Encoded:
    if isinstance(one, Exception):
        raise at_sample(one, position) from one
    return one


def at_sample(error: Exception, position: int) -> InvalidError:
    """The error of a sample that cannot be encoded, with its position."""
    what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    named = InvalidError(f"sample {position}: {what}")
    named.sample = position
    return named
