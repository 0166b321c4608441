"""Sort keys as Arrow columns, and their division into ranges that several tasks sort."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.batch import Batch

if TYPE_CHECKING:
    import numpy.typing as npt

# Integers up to this size are floats without loss.
_EXACT = 1 << 53
# Rows of each table by which ranges are chosen.
_PROBED = 64
_PREFIX = 8


def key_columns(at: int, batch: Batch, path: str, *, is_length: bool) -> dict[str, pa.Array]:
    """One key of each sample: a string, or the nearest float and for large integers what it lacks; all null: missing.

    Raises:
        TypeError: A value is neither a number nor a string, or has no length.
        OverflowError: An integer has more than 64 bits.
    """
    numbers = None if is_length else batch.stored_numbers(path)
    if numbers is not None and (not len(numbers) or abs(np.ma.filled(numbers, 0)).max() < _EXACT):
        floats = np.ma.filled(numbers.astype(np.float64), np.nan)
        return _columns(at, [None] * len(batch), pa.array(floats, mask=np.isnan(floats)), [None] * len(batch))
    texts: list[str | None] = []
    nearest: list[float | None] = []
    rests: list[int | None] = []
    for value in batch.column(path):
        text, number, rest = _parts(_length(value, path) if is_length else value, path)
        texts.append(text)
        nearest.append(number)
        rests.append(rest)
    return _columns(at, texts, pa.array(nearest, pa.float64()), rests)


def _columns(at: int, texts: list[str | None], numbers: pa.Array, rests: list[int | None]) -> dict[str, pa.Array]:
    return {
        f"text_{at}": pa.array(texts, pa.large_string()),
        f"number_{at}": numbers,
        f"rest_{at}": pa.array(rests, pa.int16()),
    }


def _parts(key: Any, path: str) -> tuple[str | None, float | None, int | None]:
    """The string; or the nearest float, and what an integer is more than it, if anything."""
    if isinstance(key, np.generic):
        key = key.item()
    if key is None or isinstance(key, str):
        return key, None, None
    if isinstance(key, float):
        return None, None if np.isnan(key) else key, None
    if not isinstance(key, int):
        raise TypeError(f"{path}: a sort key is a number or a string, not {type(key).__name__}")
    if not -(1 << 63) <= key < 1 << 64:
        raise OverflowError(f"{path}: {key} is a sort key of more than 64 bits")
    return None, float(key), key - int(float(key)) or None


def _length(value: Any, path: str) -> int | None:
    if value is None:
        return None
    if not hasattr(value, "__len__"):
        raise TypeError(f"{path}: {type(value).__name__} has no length")
    return value.nbytes if isinstance(value, memoryview) else len(value)


def python_keys(table: pa.Table, at: int) -> list[Any]:
    """One key of each row as Python's own value; None where it is missing."""
    texts, numbers, rests = (table.column(f"{name}_{at}") for name in ("text", "number", "rest"))
    found: list[Any] = numbers.to_pylist() if texts.null_count == len(texts) else texts.to_pylist()
    if rests.null_count < len(rests):
        found = [key if rest is None else int(key) + rest for key, rest in zip(found, rests.to_pylist(), strict=True)]
    return found


@dataclass(frozen=True)
class Edges:
    """Where the ranges of the first key begin; every task finds the same.

    Attributes:
        shares: How many ranges.
        numbers: The first number of each range but the first.
        texts: The same of strings, of which only the first bytes count.
        is_descending: Whether the first range has the largest keys.
    """

    shares: int
    numbers: "npt.NDArray[np.float64]"
    texts: "npt.NDArray[np.uint64]"
    is_descending: bool

    @classmethod
    def of(cls, tables: Iterable[pa.Table], shares: int, *, is_descending: bool) -> Self:
        """Edges by a few rows of each table."""
        numbers: list[npt.NDArray[np.float64]] = [np.empty(0, np.float64)]
        texts: list[npt.NDArray[np.uint64]] = [np.empty(0, np.uint64)]
        for table in tables if shares > 1 else ():
            rows = np.unique(np.linspace(0, max(table.num_rows - 1, 0), _PROBED).astype(np.int64))
            some = table.take(pa.array(rows[: table.num_rows]))
            numbers.append(some.column("number_0").drop_null().to_numpy())
            texts.append(_prefixes(some.column("text_0").drop_null()))
        return cls(
            shares, _edges(np.concatenate(numbers), shares), _edges(np.concatenate(texts), shares), is_descending
        )

    def share_of(self, table: pa.Table) -> "npt.NDArray[np.int64]":
        """The range of each row, those without a first key last."""
        found = np.full(table.num_rows, self.shares - 1, dtype=np.int64)
        if self.shares == 1:
            return found
        for name, edges in (("number_0", self.numbers), ("text_0", self.texts)):
            column = table.column(name)
            there = column.is_valid().to_numpy()
            present = column.drop_null()
            values = present.to_numpy() if name == "number_0" else _prefixes(present)
            ranges = np.searchsorted(edges, values, side="right")
            found[there] = self.shares - 1 - ranges if self.is_descending else ranges
        return found


def _edges(values: "npt.NDArray[Any]", shares: int) -> "npt.NDArray[Any]":
    values = np.sort(values)
    if not len(values):
        return values
    return values[[len(values) * share // shares for share in range(1, shares)]]


def _prefixes(texts: pa.ChunkedArray) -> "npt.NDArray[np.uint64]":
    """The first bytes of strings as numbers: strings in order have numbers in order."""
    found: list[npt.NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    for chunk in _chunks(texts):
        _, offsets, data = chunk.buffers()
        starts = np.frombuffer(offsets, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        held = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        at = starts[:-1, None] + np.arange(_PREFIX)
        heads = np.where(at < starts[1:, None], held[np.minimum(at, len(held) - 1)], 0).astype(np.uint8)
        found.append(np.ascontiguousarray(heads).view(">u8").reshape(-1).astype(np.uint64))
    return np.concatenate(found)


def _chunks(texts: pa.ChunkedArray) -> Sequence[pa.Array]:
    return [chunk for chunk in texts.chunks if len(chunk)]
