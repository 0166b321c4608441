"""Collects the columns of lengths in order; token ids stay on disk until they are saved."""

import os
import tempfile
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from jinx.errors import InvalidError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TOKENS = "num_tokens"
COUNTS = (TOKENS, "num_label_tokens", "num_images", "num_patches")
IDS, MASK = "input_ids", "label_mask"


@dataclass(frozen=True, slots=True)
class Block:
    """The lengths of consecutive samples.

    Attributes:
        start: The first of the samples.
        counts: For each of `COUNTS` that was counted, int64 of shape (samples,).
        ids: Token ids of all samples, one after the other, if they are kept.
        is_label: A mask of the token ids that count in the loss.
    """

    start: int
    counts: "dict[str, npt.NDArray[np.int64]]"
    ids: "npt.NDArray[Any] | None" = None
    is_label: "npt.NDArray[np.bool_] | None" = None

    def __len__(self) -> int:
        return len(self.counts[TOKENS])


class Spool:
    """A sequence of arrays of different lengths, in an unnamed temporary file.

    Args:
        folder: A directory on the disk that holds the file.
        dtype: The dtype of the values.
    """

    def __init__(self, folder: str, dtype: Any) -> None:
        import numpy as np

        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - `close` closes it
        self._dtype = np.dtype(dtype)
        # An `array.array` grows in place, so appending costs the same at any length.
        self._ends: Any = array("q", [0])

    def append(self, values: "npt.NDArray[Any]", lengths: "npt.NDArray[np.int64]") -> None:
        """Add rows, given as one array and the length of each."""
        import numpy as np

        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self._ends.frombytes((self._ends[-1] + np.cumsum(lengths, dtype=np.int64)).tobytes())

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self[i] for i in range(*key.indices(len(self)))]
        start, stop = int(self._ends[key]), int(self._ends[key + 1])
        import numpy as np

        size = self._dtype.itemsize
        self._file.flush()
        data = os.pread(self._file.fileno(), (stop - start) * size, start * size)
        return np.frombuffer(data, dtype=self._dtype)


class Gathered:
    """Collects blocks in order, as columns for a view.

    Args:
        folder: The directory for token ids until they are saved.
        names: The names in `COUNTS` that a dataset without samples gets; otherwise the first sample decides.
        vocabulary: The number of token ids; None if ids are not kept.
    """

    def __init__(self, folder: str, names: Sequence[str], vocabulary: int | None) -> None:
        self._names = names
        self._counts: list[dict[str, Any]] = []
        self._spools: dict[str, Spool] = {}
        if vocabulary is not None:
            self._spools = {IDS: Spool(folder, ids_dtype(vocabulary)), MASK: Spool(folder, "bool")}

    def add(self, block: Block) -> None:
        """Add the lengths of the next samples.

        Raises:
            InvalidError: The samples have other counts than the samples before them.
        """
        if self._counts:
            require_same_counts(self._counts[0], 0, block.counts, block.start)
        self._counts.append(block.counts)
        for name, values in ((IDS, block.ids), (MASK, block.is_label)):
            if values is not None:
                self._spools[name].append(values, block.counts[TOKENS])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary file; the columns of token ids can no longer be read."""
        for spool in self._spools.values():
            spool.close()

    def columns(self) -> dict[str, Any]:
        """The names and values of all columns."""
        import numpy as np

        from jinx._dataset.added_columns import ListColumn

        names = self._counts[0] if self._counts else self._names
        nothing = np.zeros(0, dtype=np.int64)
        named: dict[str, Any] = {
            name: np.concatenate([nothing, *(counts[name] for counts in self._counts)])
            for name in COUNTS
            if name in names
        }
        for name, spool in self._spools.items():
            named[name] = ListColumn(spool)  # pyright: ignore[reportArgumentType] - has all methods that are used
        return named


def require_same_counts(before: Iterable[str], sample_before: int, counts: Iterable[str], sample: int) -> None:
    """Refuse a count that some samples have and others lack: no value means "not counted".

    Args:
        before: The counts of a sample.
        sample_before: The number of this sample.
        counts: The counts of a later sample.
        sample: The number of the later sample.

    Raises:
        InvalidError: The counts have different names.
    """
    differing = sorted({*before} ^ {*counts})
    if differing:
        has, lacks = (sample_before, sample) if differing[0] in before else (sample, sample_before)
        error = InvalidError(
            f"sample {has} has {differing[0]} and sample {lacks} has none; a count is for all samples or for none"
        )
        error.sample = sample
        raise error


def ids_dtype(vocabulary: int) -> str:
    """The smallest integer type for every token id."""
    return "<u2" if vocabulary <= 1 << 16 else "<u4"
