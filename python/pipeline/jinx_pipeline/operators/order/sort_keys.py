"""Sort keys as Arrow columns, and their division into ranges that several tasks sort."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch

if TYPE_CHECKING:
    import numpy.typing as npt

# Integers up to this size are floats without loss.
_EXACT = 1 << 53
# Keys of each block by which ranges are chosen, and how many characters of a string.
PROBED = 64
PROBED_CHARACTERS = 256
_WORD = 8


def key_columns(at: int, batch: Batch, path: str, *, is_length: bool) -> dict[str, pa.Array]:
    """One key of each sample: a string, or the nearest float and the digits of integers that are not it.

    All null: the key is missing, as every key is at an empty path.

    Raises:
        TypeError: A value is neither a number nor a string, or has no length.
    """
    numbers = None if is_length or not path else batch.stored_numbers(path)
    if numbers is not None and (not len(numbers) or abs(np.ma.filled(numbers, 0)).max() < _EXACT):
        floats = np.ma.filled(numbers.astype(np.float64), np.nan)
        return _columns(at, [None] * len(batch), pa.array(floats, mask=np.isnan(floats)), [None] * len(batch))
    texts: list[str | None] = []
    nearest: list[float | None] = []
    digits: list[str | None] = []
    for value in batch.column(path) if path else [None] * len(batch):
        text, number, exact = _parts(_length(value, path) if is_length else value, path)
        texts.append(text)
        nearest.append(number)
        digits.append(exact)
    return _columns(at, texts, pa.array(nearest, pa.float64()), digits)


def _columns(at: int, texts: list[str | None], numbers: pa.Array, digits: list[str | None]) -> dict[str, pa.Array]:
    return {
        f"text_{at}": pa.array(texts, pa.large_string()),
        f"number_{at}": numbers,
        f"digits_{at}": pa.array(digits, pa.large_string()),
    }


def _parts(key: Any, path: str) -> tuple[str | None, float | None, str | None]:
    """The string; or the nearest float, and the digits of an integer that is not it."""
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
    except OverflowError:  # beyond all floats, but not beyond infinity
        nearest = math.inf if key > 0 else -math.inf
    return None, nearest, None if nearest == key else str(key)


def _length(value: Any, path: str) -> int | None:
    if value is None:
        return None
    if not hasattr(value, "__len__"):
        raise TypeError(f"{path}: {type(value).__name__} has no length")
    return value.nbytes if isinstance(value, memoryview) else len(value)


def python_keys(table: pa.Table, at: int) -> list[Any]:
    """One key of each row as Python's own value; None where it is missing."""
    texts, numbers, digits = (table.column(f"{name}_{at}") for name in ("text", "number", "digits"))
    found: list[Any] = numbers.to_pylist() if texts.null_count == len(texts) else texts.to_pylist()
    if digits.null_count < len(digits):
        found = [key if exact is None else int(exact) for key, exact in zip(found, digits.to_pylist(), strict=True)]
    return found


@dataclass(frozen=True)
class Edges:
    """Where the ranges of the first key begin; every task finds the same.

    Attributes:
        ranges: How many.
        numbers: The first number of each range but the first.
        texts: The same of strings, of at most 256 characters: a prefix is an edge too.
        is_descending: Whether the first range has the largest keys.
    """

    ranges: int
    numbers: "npt.NDArray[np.float64]"
    texts: pa.Array
    is_descending: bool

    @classmethod
    def of(cls, samples: Iterable[pa.Table], ranges: int, *, is_descending: bool) -> Self:
        """Edges by some keys of each block."""
        numbers: list[npt.NDArray[np.float64]] = [np.empty(0, np.float64)]
        texts: list[str] = []
        for some in samples:
            numbers.append(some.column("number_0").drop_null().to_numpy())
            texts += some.column("text_0").drop_null().to_pylist()
        numbers_in_order, texts_in_order = np.sort(np.concatenate(numbers)), sorted(texts)
        return cls(
            ranges,
            numbers_in_order[_edges(len(numbers_in_order), ranges)],
            pa.array([texts_in_order[at] for at in _edges(len(texts), ranges)], pa.large_string()),
            is_descending,
        )

    def range_of(self, table: pa.Table) -> "npt.NDArray[np.int64]":
        """The range of each row, those without a first key last."""
        found = np.full(table.num_rows, self.ranges - 1, dtype=np.int64)
        for name in ("number_0", "text_0"):
            column = table.column(name)
            there = column.is_valid().to_numpy()
            present = column.drop_null()
            if name == "number_0":
                ranges = np.searchsorted(self.numbers, present.to_numpy(), side="right")
            else:
                ranges = np.concatenate([np.empty(0, np.int64), *(_ranges(one, self.texts) for one in present.chunks)])
            found[there] = self.ranges - 1 - ranges if self.is_descending else ranges
        return found


def _edges(count: int, ranges: int) -> list[int]:
    """Where the ranges but the first begin in so many keys that are in order."""
    return [count * number // ranges for number in range(1, ranges)] if count else []


def _ranges(texts: pa.Array, edges: pa.Array) -> "npt.NDArray[np.int64]":
    """How many of the edges, which are in order, come before each string or are equal to it.

    Strings are compared word by word, as long as they are equal to an edge so far.
    """
    low, high = np.zeros(len(texts), np.int64), np.full(len(texts), len(edges), np.int64)
    longest = max((len(one.encode()) for one in edges.to_pylist()), default=0)
    undecided, every_edge = np.arange(len(texts)), np.arange(len(edges))
    for start in range(0, longest, _WORD):
        if not len(undecided):
            break
        words, of_edges = _words(texts, undecided, start), _words(edges, every_edge, start)
        firsts, lasts = low[undecided], high[undecided]
        for first, last in set(zip(firsts.tolist(), lasts.tolist(), strict=True)):
            some = (firsts == first) & (lasts == last)
            rows = undecided[some]
            low[rows] = first + np.searchsorted(of_edges[first:last], words[some], side="left")
            high[rows] = first + np.searchsorted(of_edges[first:last], words[some], side="right")
        undecided = undecided[low[undecided] < high[undecided]]
    return high


def _words(texts: pa.Array, rows: "npt.NDArray[np.int64]", start: int) -> "npt.NDArray[np.uint64]":
    """Eight bytes of some strings from a place on as numbers: strings in order have numbers in order."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    at = bounds[rows, None] + start + np.arange(_WORD)
    bytes_ = np.where(at < bounds[rows + 1, None], held[np.minimum(at, len(held) - 1)], 0).astype(np.uint8)
    return np.ascontiguousarray(bytes_).view(">u8").reshape(-1).astype(np.uint64)
