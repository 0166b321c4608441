"""Counts the lengths of a block of samples, with an encoder or a user function; pickled for worker processes."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jinx._annotate.encoder import Encoded, Encoder
from jinx._annotate.image_size import ShortHeaderError
from jinx._annotate.lengths import COUNTS, IDS, MASK, TOKENS, Block, ids_dtype, require_same_counts
from jinx._dataset.reopen_with import reopen_with
from jinx.errors import InvalidError

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

# Nearly all image headers are shorter.
_HEAD_BYTES = 16384
_MAX_COUNT = 1 << 32


class TokenCounter:
    """Counts with an encoder, which needs the text and the first bytes of the images.

    Args:
        dataset: The dataset; only the encoder's columns are read.
        encoder: The encoder.
        tokens: Whether token ids are kept.
    """

    def __init__(self, dataset: "Dataset", encoder: Encoder, *, tokens: bool) -> None:
        self.dataset = dataset.select_columns(encoder.columns)
        self._heads = reopen_with(self.dataset, value_head=_HEAD_BYTES) if encoder.image_column else self.dataset
        self._encoder = encoder
        self.names = encoder.counts
        """What is counted of each sample."""
        self._dtype = ids_dtype(encoder.vocabulary) if tokens else None

    def count(self, start: int, stop: int) -> Block:
        """The lengths of the samples `start` to `stop`.

        Raises:
            InvalidError: A sample cannot be encoded.
        """
        import numpy as np

        outcomes = self._encoder.encode(self._heads.take(range(start, stop)))
        short = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, ShortHeaderError)]
        for i, outcome in zip(short, self._encoder.encode(self.dataset.take([start + i for i in short])), strict=True):
            outcomes[i] = outcome
        encoded = [_checked(outcome, start + i) for i, outcome in enumerate(outcomes)]
        rows = [
            (len(outcome.input_ids), int(outcome.is_label.sum()), outcome.num_images, outcome.num_patches)
            for outcome in encoded
        ]
        table = dict(zip(COUNTS, np.array(rows, dtype=np.int64).reshape(-1, len(COUNTS)).T, strict=True))
        counts = {name: table[name] for name in self.names}
        if self._dtype is None:
            return Block(start, counts)
        ids = np.concatenate([outcome.input_ids for outcome in encoded]).astype(self._dtype)
        return Block(start, counts, ids, np.concatenate([outcome.is_label for outcome in encoded]))


class FunctionCounter:
    """Counts with a user function of the sample.

    Args:
        dataset: The dataset.
        function: Returns the number of tokens, or a dict of counts and perhaps token ids.
        tokens: Whether token ids are kept.
    """

    def __init__(self, dataset: "Dataset", function: Callable[[Any], Any], *, tokens: bool) -> None:
        self.dataset = dataset
        self.names = (TOKENS, "num_label_tokens") if tokens else (TOKENS,)
        """What is always counted for each sample."""
        self._function = function
        self._tokens = tokens

    def count(self, start: int, stop: int) -> Block:
        """See `TokenCounter.count`."""
        import numpy as np

        results: list[dict[str, Any]] = []
        for i, sample in enumerate(self.dataset.take(range(start, stop)), start):
            try:
                results.append(self._called(sample))
            except MemoryError:
                raise
            except Exception as error:
                raise at_sample(error, i) from error
        names = [name for name in COUNTS if name in results[0]]
        for i, result in enumerate(results, start):
            require_same_counts(names, start, [name for name in COUNTS if name in result], i)
        counts = {name: np.array([result[name] for result in results], dtype=np.int64) for name in names}
        if not self._tokens:
            return Block(start, counts)
        ids, masks = ([result[name] for result in results] for name in (IDS, MASK))
        return Block(start, counts, np.concatenate(ids), np.concatenate(masks))

    def _called(self, sample: Any) -> dict[str, Any]:
        """Call the function for a sample and check its result."""
        import numpy as np

        try:
            returned: Any = self._function(sample)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:
            raise ValueError(f"{type(error).__name__} in the function: {error}") from error
        result: dict[str, Any] = {**returned} if isinstance(returned, Mapping) else {TOKENS: returned}
        unknown = [name for name in result if name not in {*COUNTS, IDS, MASK}]
        if unknown:
            raise ValueError(
                f"the function returned {', '.join(map(repr, unknown))}; it may return {', '.join(COUNTS)}"
            )
        if IDS in result:
            ids = np.asarray(result[IDS], dtype=np.int64)
            mask = np.array(result.get(MASK, np.ones(len(ids))), dtype=np.bool_)
            if len(mask) != len(ids) or result.get(TOKENS, len(ids)) != len(ids):
                raise ValueError(
                    "the function returned token ids, label mask and number of tokens of different lengths"
                )
            mask[:1] = False
            result = {"num_label_tokens": int(mask.sum()), **result, TOKENS: len(ids), IDS: ids, MASK: mask}
        elif self._tokens:
            raise ValueError(f"the function returned no {IDS}, which are to be kept")
        if TOKENS not in result:
            raise ValueError(f"the function returned no {TOKENS}")
        for name in COUNTS:
            value = result.get(name, 0)
            if not _is_count(value):
                raise ValueError(
                    f"the function returned {name}={value!r}; counts are whole numbers from 0 to 2**32 - 1"
                )
        return result


def _is_count(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and int(value) == value and 0 <= value < _MAX_COUNT
    except (TypeError, ValueError, OverflowError):  # not a number, NaN, infinity
        return False


def _checked(outcome: Encoded | Exception, position: int) -> Encoded:
    if isinstance(outcome, Exception):
        raise at_sample(outcome, position) from outcome
    return outcome


def at_sample(error: Exception, position: int) -> InvalidError:
    """The error of a sample that cannot be encoded, with its position."""
    reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    named = InvalidError(f"sample {position}: {reason}")
    named.sample = position
    return named
