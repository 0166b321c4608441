"""Holds columns of batches until their part is written: a few in memory, the rest on disk."""

import pickle
import tempfile
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from jinx._dataset.stored_ranges import StoredRange
from jinx_pipeline.operators.api.batch import REMOVED

Columns = Mapping[str, list[Any]]

HELD_BYTES: Final = 16_000_000
_NUMBERS: Final = frozenset({int, float, bool, type(None), type(REMOVED)})


class HeldColumns:
    """Columns by number. Those that do not fit into memory are in an unnamed file, which ends with this process.

    Args:
        folder: The directory of the file.
        memory: The number of bytes of values to keep in memory; values of unknown size are kept there as well.
    """

    def __init__(self, folder: Path, memory: int = HELD_BYTES) -> None:
        self._folder = folder
        self._free = memory
        self._file: IO[bytes] | None = None
        self._held: list[Columns | int] = []

    def add(self, columns: Columns) -> int:
        """Hold columns; returns their number."""
        self._held.append(self._store(columns))
        return len(self._held) - 1

    def get(self, number: int) -> Columns:
        """The columns with a number."""
        held = self._held[number]
        if not isinstance(held, int):
            return held
        if self._file is None:
            raise ValueError("the columns are closed")
        self._file.seek(held)
        return pickle.load(self._file)  # noqa: S301 - written by this process

    def close(self) -> None:
        """Drop all columns."""
        self._held.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _store(self, columns: Columns) -> Columns | int:
        """Keep columns in memory or in the file; returns them, or their offset in the file."""
        sizes = [_size(values) for values in columns.values()]
        size = sum(0 if size is None else size for size in sizes)
        if size <= self._free or None in sizes:
            self._free -= size
            return columns
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed by `close`
        offset = self._file.seek(0, 2)
        pickle.dump(dict(columns), self._file, protocol=5)
        return offset


def _size(value: Any) -> int | None:
    """The size of a value in bytes; None if it could only be found by pickling."""
    if isinstance(value, bytes | str):
        return len(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.nbytes
    if type(value) in _NUMBERS or isinstance(value, StoredRange):
        return 8
    return (
        _size_of_all(value if isinstance(value, list) else value.values()) if isinstance(value, list | dict) else None
    )


def _size_of_all(elements: Any) -> int | None:
    kinds = set(map(type, elements))
    if kinds <= _NUMBERS:
        return 8 * len(elements)
    if kinds <= {str, bytes}:
        return sum(map(len, elements))
    # Of many dicts or lists, all elements are looked at together.
    if kinds == {dict}:
        return _size_of_all([*chain.from_iterable(map(dict.values, elements))])
    if kinds == {list}:
        return _size_of_all([*chain.from_iterable(elements)])
    sizes = [_size(element) for element in elements]
    return None if None in sizes else sum(size or 0 for size in sizes)
