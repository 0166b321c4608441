"""Sort keys as Arrow columns, and their division into ranges for several tasks."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch

if TYPE_CHECKING:
    import numpy.typing as npt

# Floats represent all integers up to this size exactly.
_EXACT = 1 << 53
# The number of keys sampled from each block to choose ranges, and of characters of a string.
PROBED = 64
PROBED_CHARACTERS = 256
_WORD = 8


def key_columns(number: int, batch: Batch, path: str, *, is_length: bool) -> dict[str, pa.Array]:
    """The columns of one key: a string; or the nearest float, and the digits of integers that no float equals.

    If all are null, the key is missing, as at an empty path.

    Raises:
        TypeError: A value is neither a number nor a string, or has no length.
    """
    numbers = None if is_length or not path else batch.stored_numbers(path)
    if numbers is not None and (not len(numbers) or abs(np.ma.filled(numbers, 0)).max() < _EXACT):
        floats = np.ma.filled(numbers.astype(np.float64), np.nan)
        return _columns(number, [None] * len(batch), pa.array(floats, mask=np.isnan(floats)), [None] * len(batch))
    texts: list[str | None] = []
    nearest: list[float | None] = []
    digits: list[str | None] = []
    for value in batch.column(path) if path else [None] * len(batch):
        text, value_float, value_digits = _parts(_length(value, path) if is_length else value, path)
        texts.append(text)
        nearest.append(value_float)
        digits.append(value_digits)
    return _columns(number, texts, pa.array(nearest, pa.float64()), digits)


def _columns(number: int, texts: list[str | None], floats: pa.Array, digits: list[str | None]) -> dict[str, pa.Array]:
    return {
        f"text_{number}": pa.array(texts, pa.large_string()),
        f"number_{number}": floats,
        f"digits_{number}": pa.array(digits, pa.large_string()),
    }


def _parts(key: Any, path: str) -> tuple[str | None, float | None, str | None]:
    """A string; or the nearest float, and the digits if a float cannot represent the integer exactly."""
    if isinstance(key, np.generic):
        key = key.item()
    if key is None or isinstance(key, str):
        return key, None, None
    if isinstance(key, float):
        return None, None if np.isnan(key) else key, None
    if not isinstance(key, int):
        raise TypeError(f"{path}: a sort key is a number or a string, not {type(key).__name__}")
    try:
        nearest = float(key)
    except OverflowError:  # beyond the range of floats
        nearest = math.inf if key > 0 else -math.inf
    return None, nearest, None if nearest == key else str(key)


def _length(value: Any, path: str) -> int | None:
    if value is None:
        return None
    if not hasattr(value, "__len__"):
        raise TypeError(f"{path}: {type(value).__name__} has no length")
    return value.nbytes if isinstance(value, memoryview) else len(value)


def python_keys(table: pa.Table, number: int) -> list[Any]:
    """One key of each row as a Python value; None if it is missing."""
    texts, floats, digits = (table.column(f"{name}_{number}") for name in ("text", "number", "digits"))
    keys: list[Any] = floats.to_pylist() if texts.null_count == len(texts) else texts.to_pylist()
    if digits.null_count < len(digits):
        keys = [key if exact is None else int(exact) for key, exact in zip(keys, digits.to_pylist(), strict=True)]
    return keys


@dataclass(frozen=True)
class Edges:
    """The edges of the ranges of the first key, which are the same in every task.

    Attributes:
        ranges: The number of ranges.
        numbers: The first number of each range except the first.
        texts: The first string of each range except the first, cut to at most 256 characters: a prefix can be an edge
            too.
        is_descending: Whether the first range has the largest keys.
    """

    ranges: int
    numbers: "npt.NDArray[np.float64]"
    texts: pa.Array
    is_descending: bool

    @classmethod
    def of(cls, samples: Iterable[pa.Table], ranges: int, *, is_descending: bool) -> Self:
        """The edges, from sampled keys of each block."""
        numbers: list[npt.NDArray[np.float64]] = [np.empty(0, np.float64)]
        texts: list[str] = []
        for table in samples:
            numbers.append(table.column("number_0").drop_null().to_numpy())
            texts += table.column("text_0").drop_null().to_pylist()
        numbers_in_order, texts_in_order = np.sort(np.concatenate(numbers)), sorted(texts)
        return cls(
            ranges,
            numbers_in_order[_edges(len(numbers_in_order), ranges)],
            pa.array([texts_in_order[index] for index in _edges(len(texts), ranges)], pa.large_string()),
            is_descending,
        )

    def range_of(self, table: pa.Table) -> "npt.NDArray[np.int64]":
        """The range of each row; rows without a first key are in the last range."""
        row_ranges = np.full(table.num_rows, self.ranges - 1, dtype=np.int64)
        for name in ("number_0", "text_0"):
            column = table.column(name)
            is_present = column.is_valid().to_numpy()
            present = column.drop_null()
            if name == "number_0":
                ranges = np.searchsorted(self.numbers, present.to_numpy(), side="right")
            else:
                chunks = (_ranges(chunk, self.texts) for chunk in present.chunks)
                ranges = np.concatenate([np.empty(0, np.int64), *chunks])
            row_ranges[is_present] = self.ranges - 1 - ranges if self.is_descending else ranges
        return row_ranges


def _edges(count: int, ranges: int) -> list[int]:
    """The indices in sorted keys where the ranges begin, except the first."""
    return [count * number // ranges for number in range(1, ranges)] if count else []


def _ranges(texts: pa.Array, edges: pa.Array) -> "npt.NDArray[np.int64]":
    """For each string, the number of sorted edges that are less than or equal to it.

    Strings are compared in words of eight bytes, until they differ from the edge.
    """
    low, high = np.zeros(len(texts), np.int64), np.full(len(texts), len(edges), np.int64)
    longest = max((len(edge.encode()) for edge in edges.to_pylist()), default=0)
    undecided, every_edge = np.arange(len(texts)), np.arange(len(edges))
    for start in range(0, longest, _WORD):
        if not len(undecided):
            break
        words, edge_words = _words(texts, undecided, start), _words(edges, every_edge, start)
        firsts, lasts = low[undecided], high[undecided]
        for first, last in set(zip(firsts.tolist(), lasts.tolist(), strict=True)):
            is_equal = (firsts == first) & (lasts == last)
            rows = undecided[is_equal]
            low[rows] = first + np.searchsorted(edge_words[first:last], words[is_equal], side="left")
            high[rows] = first + np.searchsorted(edge_words[first:last], words[is_equal], side="right")
        undecided = undecided[low[undecided] < high[undecided]]
    return high


def _words(texts: pa.Array, rows: "npt.NDArray[np.int64]", start: int) -> "npt.NDArray[np.uint64]":
    """Eight bytes of each string, from an offset on, as numbers that sort like the strings."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    source = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    places = bounds[rows, None] + start + np.arange(_WORD)
    bytes_ = np.where(places < bounds[rows + 1, None], source[np.minimum(places, len(source) - 1)], 0).astype(np.uint8)
    return np.ascontiguousarray(bytes_).view(">u8").reshape(-1).astype(np.uint64)
