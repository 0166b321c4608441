"""Columns as charts: bins of numbers and bars of strings, with counts of the samples that the other charts keep."""

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jinx import _core
from jinx._core import Reader
from jinx._dataset.columns import column_names
from jinx._viewer.query import Brush, expression_name

MISSING = 255
_BINS = 32
_MOST_INTEGERS = 40
_MOST_NAMES = 60
_LONGEST_NAME = 48
_LOOKED_AT = 32
_DEEPEST = 3
_MOST_MEMBERS = 100
_NUMBERS = {"int", "float", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32"}


@dataclass(frozen=True)
class ChartColumn:
    """A column, or the length of one, that may have a chart.

    Attributes:
        name: As expressions write it.
        path: The names in its path.
        kind: What it holds.
    """

    name: str
    path: tuple[str, ...]
    kind: Literal["numbers", "bools", "names", "lengths"]


@dataclass(frozen=True)
class Coded:
    """The codes of a column: one byte per sample.

    Attributes:
        codes: The number of each sample's bin or name; 255 if it has no value.
        edges: Of numbers: the limits of all bins, one more than there are bins.
        names: Of strings and bools.
        counts: All samples by code.
    """

    codes: bytes
    edges: tuple[float, ...]
    names: tuple[str | bool, ...]
    counts: tuple[int, ...]

    @property
    def bars(self) -> int:
        """The number of bins or names."""
        return len(self.names) or len(self.edges) - 1

    def kept(self, brush: Brush | None) -> bytes | None:
        """For each code, whether the brush keeps it; None if the brush cuts through a bin."""
        if brush is None:
            return b"\1" * 256
        kept = bytearray(256)
        if brush.range is not None and self.edges:
            least, limit = brush.range
            if least not in {None, *self.edges} or limit not in {None, *self.edges}:
                return None
            for code in range(self.bars):
                starts_after = least is None or self.edges[code] >= least
                kept[code] = starts_after and (limit is None or self.edges[code + 1] <= limit)
            # The first bin has no lower limit and the last no upper one, so that infinities are counted.
            return bytes(kept) if limit != self.edges[-1] and least != self.edges[0] else None
        for name in brush.names or ():
            if name is None:
                kept[MISSING] = 1
            elif name in self.names:
                kept[self.names.index(name)] = 1
        return bytes(kept) if self.names else None


class Charts:
    """The charts of one dataset. Codes are made in the background when a chart is first shown.

    Args:
        dataset: The dataset.
    """

    def __init__(self, dataset: Reader) -> None:
        self._dataset = dataset
        self._coded: dict[str, Coded | None] = {}
        self._lock = threading.Lock()
        self._wanted: list[str] = []
        self._is_running = False
        self.columns = {column.name: column for column in _chart_columns(dataset)}

    def coded(self, name: str) -> Coded | None:
        """The codes of a column; None if it has no chart (too many strings, or no numbers), or they are not ready."""
        return self._coded.get(name)

    def prepare(self, names: list[str]) -> bool:
        """Start computing the codes of columns in a thread; returns whether all are ready.

        Columns that are not in the index are read from all rows, which takes long for a large dataset.
        """
        waiting = [name for name in names if name in self.columns and name not in self._coded]
        with self._lock:
            self._wanted = [*self._wanted, *(name for name in waiting if name not in self._wanted)]
            if self._wanted and not self._is_running:
                self._is_running = True
                threading.Thread(target=self._make, name="jinx view charts", daemon=True).start()
        return not waiting

    def _make(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._is_running = False
                    return
                name = self._wanted[0]
            try:
                coded = _coded(self._dataset, self.columns[name])
            except Exception:  # noqa: BLE001 - a damaged column has no chart; its samples say what is wrong
                coded = None
            with self._lock:
                self._coded[name] = coded
                self._wanted.remove(name)

    def counts(self, names: list[str], brushes: dict[str, Brush], among: bytes | None) -> tuple[list[Any], int]:
        """For each column, how many samples of each code the other brushes keep; and how many all brushes keep.

        Args:
            names: Columns that have codes.
            brushes: The brushes by column, each of which `Coded.kept` takes.
            among: The samples to count, as bits of `Kept`; None: all.
        """
        pairs: list[tuple[bytes, bytes]] = []
        for name in [*names, *(name for name in brushes if name not in names)]:
            coded = self.coded(name)
            kept = coded and coded.kept(brushes.get(name))
            if coded is not None and kept is not None:
                pairs.append((coded.codes, kept))
        counts, kept_samples = _core.view_counts(pairs, among, len(self._dataset))
        return counts[: len(names)], kept_samples


def _chart_columns(dataset: Reader) -> list[ChartColumn]:
    """The columns and members of dicts, and then the lengths."""
    first: list[ChartColumn] = []
    lengths: list[ChartColumn] = []
    for path, kinds in _kinds(dataset).items():
        found = kinds - {"null"}
        written = expression_name(list(path))
        if found and found <= _NUMBERS:
            first.append(ChartColumn(written, path, "numbers"))
        elif found == {"bool"}:
            first.append(ChartColumn(written, path, "bools"))
        elif found == {"str"}:
            first.append(ChartColumn(written, path, "names"))
            lengths.append(ChartColumn(f"len({written})", path, "lengths"))
        elif found == {"list"}:
            lengths.append(ChartColumn(f"len({written})", path, "lengths"))
    return [*first, *lengths]


def _kinds(dataset: Reader) -> dict[tuple[str, ...], set[str]]:
    """The kinds of the values at each path: for columns from the files, below them from the first samples."""
    stored = {tuple(entry["path"]): set(entry["kinds"]) for entry in dataset._path_stats() if not dataset._transforms}
    seen: dict[tuple[str, ...], set[str]] = {(name,): set() for name in column_names(dataset)}
    heads = dataset._derive(decoders=None)
    for index in range(min(_LOOKED_AT, len(heads))):
        for name in (sample := heads[index]):
            # Reading media just to find their kind would take long.
            if stored.get((name,), {"dict"}) <= {"dict", "null"}:
                _note_kinds(seen, (name,), sample[name])
    return {path: stored.get(path, kinds) if len(path) == 1 else kinds for path, kinds in seen.items()}


def _note_kinds(seen: dict[tuple[str, ...], set[str]], path: tuple[str, ...], value: Any) -> None:
    seen.setdefault(path, set()).add(_kind_of(value))
    if isinstance(value, Mapping) and len(path) < _DEEPEST:
        for name, member in list(value.items())[:_MOST_MEMBERS]:  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            _note_kinds(seen, (*path, str(name)), member)  # pyright: ignore[reportUnknownArgumentType]


def _kind_of(value: Any) -> str:
    kind = "null" if value is None else type(value).__name__
    return kind if kind in {"null", "bool", "int", "float", "str", "list", "dict"} else "other"


def _coded(dataset: Reader, column: ChartColumn) -> Coded | None:
    path = list(column.path)
    if column.kind == "names":
        found = _core.view_categories(dataset, path, _MOST_NAMES)
        # Long strings are treated as texts, even if there are few.
        if found is None or any(len(name) > _LONGEST_NAME for name in found[0]):
            return None
        names, codes = found
        return Coded(codes, (), tuple(names), _counts(codes, len(names), len(dataset)))
    numbers = _core.ViewNumbers.read(dataset, path, "length" if column.kind == "lengths" else "value")
    limits, _, is_integer = (None, 0, False) if numbers is None else numbers.range()
    if numbers is None or limits is None:
        return None
    if column.kind == "bools":
        codes = numbers.codes([0.5])
        return Coded(codes, (), (False, True), _counts(codes, 2, len(dataset)))
    edges = bin_edges(*limits, is_integer=is_integer or column.kind == "lengths")
    codes = numbers.codes(list(edges[1:-1]))
    return Coded(codes, edges, (), _counts(codes, len(edges) - 1, len(dataset)))


def _counts(codes: bytes, bars: int, samples: int) -> tuple[int, ...]:
    counts, _ = _core.view_counts([(codes, b"\1" * 256)], None, samples)
    return (*counts[0][:bars], counts[0][MISSING])


def bin_edges(least: float, largest: float, *, is_integer: bool) -> tuple[float, ...]:
    """Round edges of about 32 bins; in a small range of integers, each has its own bin.

    Args:
        least: The smallest number.
        largest: The largest number, which lies below the last limit.
        is_integer: Whether all are integers.
    """
    if is_integer and largest - least < _MOST_INTEGERS:
        return tuple(float(edge) for edge in range(int(least), int(largest) + 2))
    span = max(largest - least, abs(largest) * 1e-9, 1e-300)
    if not math.isfinite(span):
        return (least, 0.0, largest)
    power = 10.0 ** math.floor(math.log10(span / _BINS))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * _BINS >= span)
    step = max(step, 1.0) if is_integer else step
    first = math.floor(least / step)
    digits = max(0, min(300, 1 - math.floor(math.log10(step))))
    edges = [round(first * step, digits)]
    while edges[-1] <= largest and len(edges) < 2 * _BINS + 2:
        edges.append(round((first + len(edges)) * step, digits))
    return tuple(edges)
