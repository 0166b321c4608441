"""Columns of vectors in a saved view: arrays of float32 instead of lists in rows."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    import jinx

# Memory for the vectors that are read at a time, as float64.
_BLOCK_BYTES = 16 << 20
_BLOCK_ROWS = 1 << 14


@contextmanager
def with_typed_vectors(view: "jinx.Dataset", names: Sequence[str], folder: Path) -> "Generator[jinx.Dataset]":
    """The view, with an array for each of these columns whose values are float32 vectors of equal length.

    An operator gives vectors as lists of numbers, of which each takes about 20 bytes in a row and 4 in an array.

    Args:
        view: The view.
        names: Columns that hold vectors; others than those of the view are left out.
        folder: The directory for a temporary file with the arrays.
    """
    with TemporaryDirectory(prefix=".vectors.", dir=folder) as temporary:
        typed = dict[str, Any]()
        for number, name in enumerate(names):
            if name in view.column_names and len(view):
                vectors = _vectors(view.select_columns([name]), Path(temporary) / str(number))
                if vectors is not None:
                    typed[name] = vectors
        yield view.with_columns(typed) if typed else view


def _vectors(column: "jinx.Dataset", path: Path) -> Any:
    """A memory-mapped array of shape (n, width), masked where a value is missing.

    None if a value is something else, or float32 does not hold it exactly.
    """
    array = cast("Any", None)
    mask = np.zeros(len(column), np.bool_)
    start, rows = 0, 64
    while start < len(column):
        block = column[start : start + rows]
        found = _block(block)
        if found is None:
            return None
        missing, values = found
        if len(values):
            if array is None:
                width = values.shape[1]
                array = np.memmap(path, np.float32, "w+", shape=(len(column), width))
                rows = min(_BLOCK_ROWS, max(1, _BLOCK_BYTES // (8 * width)))
            if values.shape[1] != array.shape[1]:
                return None
            array[start : start + len(block)][~missing] = values
        mask[start : start + len(block)] = missing
        start += len(block)
    if array is None:
        return None
    return np.ma.MaskedArray(array, mask=np.broadcast_to(mask[:, None], array.shape)) if mask.any() else array


def _block(block: "jinx.Dataset") -> tuple[Any, Any] | None:
    """A mask of missing values, and the other values as float32 of shape (n, width); None if any is not a vector."""
    (name,) = block.column_names
    # Parsing lists in Python is several times as fast as having Arrow infer their types.
    values: list[Any] = [sample.get(name) for sample in block.take(range(len(block)), [name])]
    missing = np.array([value is None for value in values])
    there = [value for value in values if value is not None]
    if not there:
        return missing, np.empty((0, 0), np.float32)
    try:
        wide = np.array(there)
    except ValueError:  # the lengths differ
        return None
    if wide.ndim != 2 or wide.dtype.kind != "f" or not wide.shape[1]:  # noqa: PLR2004 - two dimensions: vectors
        return None
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.float32)
    return (missing, narrow) if np.array_equal(narrow.astype(wide.dtype), wide, equal_nan=True) else None
