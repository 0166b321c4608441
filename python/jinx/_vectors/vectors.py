"""The vectors of a column, as one array that is read block by block."""

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from jinx._core import Reader
from jinx._dataset.columns import column, parse_name, typed_array

# Memory for a block of vectors as float32, and for its scores.
_BLOCK_BYTES = 32 << 20
# The bytes of vectors that make a task worth its own thread.
_TASK_BYTES = 1 << 20


class Vectors:
    """The vectors of a column, which are read block by block.

    Args:
        array: All vectors of the files, mapped if they are of a saved view; of shape (n, width).
        rows: Which of them the view shows; None for all in their order.
        present: A mask of the samples of the view with a vector; None for all.

    `width` is the length of a vector; 0 if no sample has one.
    """

    def __init__(self, array: Any, rows: Any, present: Any) -> None:
        self.array = array
        self._rows = rows
        self.present = present
        self.width: int = array.shape[1]

    @classmethod
    def of(cls, dataset: Reader, name: str, *, only_typed: bool = False) -> "Vectors":
        """The column.

        Args:
            dataset: The view.
            name: The column.
            only_typed: Refuse vectors that are no typed column of a file, or added to one in memory.

        Raises:
            TypeError: The column does not hold vectors of one length.
        """
        import numpy as np

        stored = typed_array(dataset, parse_name(dataset, name))
        if stored is None and only_typed:
            raise TypeError(
                f"the vectors in {name!r} are not stored as one array, which an index needs; add them as an array: "
                f"ds.with_columns({{{name!r}: array}}).save(...)"
            )
        if stored is None:
            values: Any = column(dataset, name)
            present = np.array([value is not None for value in values], dtype=np.bool_)
            if not present.any():
                # Nothing tells how long vectors are.
                return cls(np.empty((len(present), 0)), None, present)
            shapes = {np.shape(value) for value, is_there in zip(values, present, strict=True) if is_there}
            if len(shapes) != 1 or len(next(iter(shapes))) != 1:
                raise TypeError(f"the column {name!r} does not hold vectors of one length")
            zeros = np.zeros(next(iter(shapes)))
            array = np.array([zeros if value is None else value for value in values])
            return cls(array, None, None if present.all() else present)
        array, rows, present = stored
        if array.ndim != 2:  # noqa: PLR2004 - two dimensions: vectors
            raise TypeError(f"the column {name!r} holds numbers and not vectors")
        return cls(array, rows, present)

    def __len__(self) -> int:
        return len(self.array) if self._rows is None else len(self._rows)

    @property
    def dtype(self) -> Any:
        """The type of the numbers."""
        return self.array.dtype

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return self.array.dtype.itemsize

    def present_rows(self) -> Any:
        """The positions of the vectors that are not missing."""
        import numpy as np

        return np.arange(len(self)) if self.present is None else np.flatnonzero(self.present)

    def rows_of(self, chosen: Any) -> Any:
        """The rows of the array for positions in the view (None: all); the result None means all rows in order."""
        if chosen is None:
            return self._rows
        return chosen if self._rows is None else self._rows[chosen]

    def at(self, positions: Any) -> Any:
        """The vectors at positions in the view."""
        return self.array[positions if self._rows is None else self._rows[positions]]

    def blocks(self, chosen: Any = None, queries: int = 1) -> Iterator[tuple[Any, Any, Any]]:
        """Blocks of positions in the view, with vectors as float32 and their squared lengths as float64.

        Missing vectors, and those that are not finite, are left out.

        Args:
            chosen: Positions in the view; None for all.
            queries: How many numbers the caller computes from each vector.
        """
        import numpy as np

        size = max(1, _BLOCK_BYTES // (4 * max(self.width, queries)))
        count = len(self) if chosen is None else len(chosen)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        with ThreadPoolExecutor(cores) as threads:
            for start in range(0, count, size):
                stop = min(start + size, count)
                positions = np.arange(start, stop) if chosen is None else chosen[start:stop]
                if self.present is not None:
                    positions = positions[self.present[positions]]
                if not len(positions):
                    continue
                rough, squares = self._rough(positions, threads)
                is_finite = ~np.isnan(squares)
                if not is_finite.all():
                    positions, rough, squares = positions[is_finite], rough[is_finite], squares[is_finite]
                if len(positions):
                    yield positions, rough, squares

    def _rough(self, positions: Any, threads: Executor) -> tuple[Any, Any]:
        """Vectors as float32, and their squared lengths; NaN for a vector with a number that is not finite."""
        import numpy as np

        rough = np.empty((len(positions), self.width), np.float32)
        squares = np.empty(len(positions), np.float64)
        is_near = self._rows is None and int(positions[-1]) - int(positions[0]) + 1 == len(positions)

        def convert(start: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # the error state is per thread
                convert_part(start)

        def convert_part(start: int) -> None:
            part = slice(start, min(start + size, len(positions)))
            if is_near:
                block = self.array[positions[0] + part.start : positions[0] + part.stop]
            else:
                block = self.at(positions[part])
            rough[part] = block
            squares[part] = np.einsum("ij,ij->i", rough[part], rough[part])
            # A sum is not finite if one of its numbers is not, or if it is too large for float32.
            odd = np.flatnonzero(~np.isfinite(squares[part]))
            if len(odd):
                squares[part][odd[~np.isfinite(block[odd]).all(axis=1)]] = np.nan

        size = max(1, _TASK_BYTES // (4 * self.width))
        list(threads.map(convert, range(0, len(positions), size)))
        return rough, squares
