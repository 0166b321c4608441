"""Arrays that are too long for memory, as sequences of chunks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.exchange.numbers import numbers_of

if TYPE_CHECKING:
    import numpy.typing as npt

CHUNK = 1_000_000
"""Positions in a chunk."""


def chunk_bounds(count: int) -> Iterator[tuple[int, int]]:
    """The start and end of each chunk of a number of positions."""
    for first in range(0, count, CHUNK):
        yield first, min(first + CHUNK, count)


class Chunks:
    """An array in chunks; iterating it computes the chunks, and can be repeated.

    Args:
        make: Makes an iterator over the chunks.
    """

    def __init__(self, make: "Callable[[], Iterator[npt.NDArray[Any]]]") -> None:
        self._make = make

    def __iter__(self) -> "Iterator[npt.NDArray[Any]]":
        return self._make()

    def array(self) -> "npt.NDArray[np.int64]":
        """The whole array, in memory."""
        return np.concatenate([np.empty(0, np.int64), *self])


def whole(array: "npt.NDArray[Any]") -> Chunks:
    """An array in memory, as one chunk."""
    return Chunks(lambda: iter([array]))


def all_positions(count: int) -> Chunks:
    """The positions 0 to `count` - 1."""
    return Chunks(lambda: (np.arange(first, stop) for first, stop in chunk_bounds(count)))


def chosen(mask: "npt.NDArray[np.bool_]") -> Chunks:
    """The positions at which a mask is true."""
    return Chunks(lambda: (np.flatnonzero(mask[first:stop]) + first for first, stop in chunk_bounds(len(mask))))


def by_range(tables: Sequence[pa.Table], column: str, count: int) -> Iterator[tuple[int, int, pa.Table]]:
    """The rows of several tables, grouped by ranges of the positions in a column.

    Args:
        tables: Tables that are sorted by the column.
        column: A column of positions below `count`.
        count: The number of all positions.

    Yields:
        The start and end of a range, and the rows of all tables in it, table by table.
    """
    places = [numbers_of(table, column) for table in tables]
    starts = [0] * len(tables)
    for first, stop in chunk_bounds(count):
        ends = [int(np.searchsorted(positions, stop)) for positions in places]
        parts = [table.slice(start, end - start) for table, start, end in zip(tables, starts, ends, strict=True)]
        yield first, stop, pa.concat_tables(parts)
        starts = ends


def write_npy(file: IO[bytes], chunks: "Iterable[npt.NDArray[Any]]", dtype: Any = np.int64) -> int:
    """Write an array as `np.save` does, chunk by chunk; returns its length.

    Args:
        file: A seekable file.
        chunks: The array.
        dtype: The dtype of the array.
    """
    # The header has the same length for any array length, because numpy reserves room for the digits.
    _write_header(file, 0, dtype)
    count = 0
    for chunk in chunks:
        file.write(np.ascontiguousarray(chunk, dtype).data)
        count += len(chunk)
    end = file.tell()
    file.seek(0)
    _write_header(file, count, dtype)
    file.seek(end)
    return count


def _write_header(file: IO[bytes], count: int, dtype: Any) -> None:
    described = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(file, described)
