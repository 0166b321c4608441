"""The vectors of all samples in a temporary file, so that a decision about them takes little memory."""

import mmap
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx._vectors.directions import unit
from jinx_pipeline.operators.vector.vectors_of import vectors_of

if TYPE_CHECKING:
    import numpy.typing as npt

_BLOCK_ROWS = 8192
_VECTOR, _PRESENT = "vector", "present"


class StoredVectors:
    """Vectors that are written block by block and then memory-mapped.

    Only vectors that are present are in the file. It has no name, and is gone when this object is.

    Args:
        name: The column, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._file: IO[bytes] | None = None
        self._dtype: np.dtype[Any] | None = None
        self._width = 0
        self._rows = 0
        self._masks = list["npt.NDArray[np.bool_]"]()

    def __len__(self) -> int:
        return sum(len(mask) for mask in self._masks)

    def extend(self, values: Sequence[Any]) -> None:
        """Add the next samples, given as values that `vectors_of` accepts."""
        self.append(*vectors_of(values, self._name))

    def append(self, vectors: "npt.NDArray[Any]", present: "npt.NDArray[np.bool_]") -> None:
        """Add the next samples.

        Args:
            vectors: Their vectors, of shape (n, width).
            present: Which of them have a vector.

        Raises:
            ValueError: The vectors have another length than those before.
        """
        self._masks.append(present)
        if not present.any():
            return
        if self._file is None or self._dtype is None:
            self._file = self._opened()
            self._dtype, self._width = vectors.dtype, vectors.shape[1]
        if vectors.shape[1] != self._width:
            few, many = sorted((vectors.shape[1], self._width))
            raise ValueError(f"vectors of {few} and of {many} numbers in {self._name!r}")
        if vectors.dtype != self._dtype:
            self._widen(np.promote_types(vectors.dtype, self._dtype))
        self._file.write(np.ascontiguousarray(vectors[present], dtype=self._dtype).tobytes())
        self._rows += int(present.sum())

    @property
    def present(self) -> "npt.NDArray[np.bool_]":
        """Which samples have a vector."""
        return np.concatenate(self._masks) if self._masks else np.zeros(0, np.bool_)

    def mapped(self) -> "npt.NDArray[Any]":
        """The vectors that are present, of shape (n, width)."""
        if self._file is None or self._dtype is None:
            return np.zeros((0, max(self._width, 1)), np.float32)
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ)
        return np.frombuffer(mapped, dtype=self._dtype).reshape(self._rows, self._width)

    def _opened(self) -> IO[bytes]:
        file = tempfile.TemporaryFile(prefix="jinx-pipeline-")  # noqa: SIM115 - closed when this object is deleted
        weakref.finalize(self, file.close)
        return file

    def _widen(self, dtype: "np.dtype[Any]") -> None:
        if dtype == self._dtype:
            return
        before = self.mapped()
        self._file, self._dtype = self._opened(), dtype
        for start in range(0, len(before), _BLOCK_ROWS):
            self._file.write(before[start : start + _BLOCK_ROWS].astype(dtype).tobytes())


def stored_of(values: Any, name: str) -> StoredVectors:
    """The vectors of a column, given as what was stored block by block or as a list of values."""
    if isinstance(values, StoredVectors):
        return values
    stored = StoredVectors(name)
    stored.extend(values)
    return stored


def vector_signatures(values: Sequence[Any], name: str) -> pa.Table:
    """The vectors of samples, and which samples have one, as signatures for `stored_signatures`.

    Args:
        values: The values of a column.
        name: The column, for messages.
    """
    vectors, present = vectors_of(values, name)
    cells = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    return pa.table({_VECTOR: cells, _PRESENT: present})


def stored_signatures(signatures: Iterable[pa.Table], name: str) -> StoredVectors:
    """The vectors in tables made by `vector_signatures`."""
    stored = StoredVectors(name)
    for table in signatures:
        numbers = table.column(_VECTOR).combine_chunks().flatten().to_numpy(zero_copy_only=False)
        stored.append(numbers.reshape(len(table), -1), table.column(_PRESENT).to_numpy())
    return stored


def directions_of(vectors: "npt.NDArray[Any]") -> "npt.NDArray[np.float32]":
    """Vectors of length 1, in a temporary file."""
    stored = StoredVectors("directions")
    for _, block in blocks(vectors):
        stored.append(unit(block), np.ones(len(block), np.bool_))
    return stored.mapped()


def blocks(vectors: "npt.NDArray[Any]", rows: int = _BLOCK_ROWS) -> "Iterator[tuple[int, npt.NDArray[Any]]]":
    """Parts of an array with their first rows. Their size does not depend on the machine, so neither do results."""
    for start in range(0, len(vectors), rows):
        yield start, vectors[start : start + rows]
