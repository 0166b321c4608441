"""Writing the output of a task: a saved view of positions and changed columns, or the samples as they are stored."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import jinx
from jinx._results import WriteResult
from jinx._views.save import write as write_view
from jinx_pipeline.operators.api.batch import REMOVED, STATS, Batch
from jinx_pipeline.operators.api.sample_source import ABSENT, ID, PRIVATE, ROW, absent_columns
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.plan.stage import Stage


class PartWriter:
    """Turns batches into a part.

    The bytes of a row depend on the row and the stage alone, never on the batch that it was in, so that every schedule
    gives the same output. Columns that operators declare to write are therefore written for every row; of others, those
    whose value differs from the stored one.
    """

    def __init__(self, stage: Stage, source: OpenSource) -> None:
        self._stage = stage
        self._source = source
        self._dataset = source.dataset
        self._stored = set(self._dataset.column_names)
        writing = [] if stage.measure_only else stage.operators
        writes = {stage.roles.column(name) for operator in writing for name in operator.writes}
        self._declared = [name for name in sorted(writes) if name in self._stored]
        self._hidden = [name for name in PRIVATE if name in self._stored]

    def write_rows(self, path: Path, batches: Sequence[Batch]) -> WriteResult:
        """The samples of batches as a dataset; nothing is decoded that did not change."""
        with jinx.Writer(path, overwrite=True, **self._stage.writer) as writer:
            for batch in batches:
                if batch.source is not self._dataset:
                    writer.write_many(self._made(batch))
                    continue
                columns = self._with_absent(batch, self._columns(batch))
                positions = self._source.local(batch.positions)
                for start, stop, marks in _runs(columns, len(batch)):
                    replace = {name: values[start:stop] for name, values in columns.items() if name not in marks}
                    drop = [name for name, mark in marks.items() if mark is REMOVED and name in self._stored]
                    writer.copy(self._dataset, positions[start:stop], replace=replace, drop=[*self._hidden, *drop])
            return writer.close()

    def write_view(self, path: Path, batches: Sequence[Batch]) -> WriteResult:
        """Which rows of the base remain, in which order, and the columns that they have of their own."""
        base = self._source.base
        if base is None:
            raise ValueError("a view needs a base")
        rows = np.concatenate([self._source.input_rows(batch.positions) for batch in batches])
        own, dropped = self._own_columns(batches, base)
        own[ROW] = rows
        # Positions are rows, unless the source has names of its own.
        if any(batch.is_named for batch in batches):
            ids = [one for batch in batches for one in batch.ids]
            if ids != [str(row) for row in rows.tolist()]:
                own[ID] = ids
        view = base.select(rows)
        if dropped:
            view = view.drop_columns(dropped)
        # No name of a part is that of an input.
        return write_view(view.with_columns(own), str(path))

    def _own_columns(self, batches: Sequence[Batch], base: jinx.Dataset) -> tuple[dict[str, Any], list[str]]:
        """The columns that a view of batches has of its own, and those of the base that all their rows lack."""
        found = [self._columns(batch) for batch in batches]
        # The base still has what operators of earlier stages removed.
        before = (*self._source.own_columns(), *self._source.hidden_columns())
        names = list(dict.fromkeys([*before, *(name for columns in found for name in columns)]))
        own: dict[str, Any] = {}
        dropped: list[str] = []
        absent: list[list[str]] = [[] for batch in batches for _ in range(len(batch))]
        for name in names:
            values: list[Any] = []
            for batch, columns in zip(batches, found, strict=True):
                values += self._whole(batch, name, columns.get(name))
            if all(value is REMOVED for value in values):
                if name in base.column_names:
                    dropped.append(name)
                continue
            own[name] = [None if value is REMOVED else value for value in values]
            for at, value in enumerate(values):
                if value is REMOVED:
                    absent[at].append(name)
        if any(absent):
            own[ABSENT] = [json.dumps(names, ensure_ascii=False) if names else None for names in absent]
        return own, dropped

    def _made(self, batch: Batch) -> Iterable[Mapping[str, Any]]:
        """Samples that are not rows of the dataset."""
        return batch.to_samples(stats=self._stage.keep_stats and bool(batch.stats))

    def _columns(self, batch: Batch) -> dict[str, list[Any]]:
        """The columns to write in place of the stored ones; REMOVED where a row keeps or lacks its stored value."""
        # Measuring changes nothing: what mappers made was for the filters after them.
        changed = {} if self._stage.measure_only else batch.changed
        columns: dict[str, list[Any]] = {}
        for name in self._declared:
            columns[name] = _listed(changed[name]) if name in changed else self._values(batch, name)
            if None in columns[name]:
                columns[name] = self._absent_kept(batch, name, columns[name])
        for name, values in changed.items():
            if name not in columns:
                columns[name] = self._changed_only(batch, name, _listed(values))
        if not self._stage.keep_stats:
            if STATS in self._stored:
                columns[STATS] = [REMOVED] * len(batch)
        elif batch.stats:
            columns[STATS] = batch.stats_column(self._stage.stat_order)
        return columns

    def _values(self, batch: Batch, name: str) -> list[Any]:
        """The stored values of a column; REMOVED where a sample has none."""
        if name not in self._stored:
            return [REMOVED] * len(batch)
        positions = self._source.local(batch.positions)
        samples = self._dataset.take(positions, [name])
        values = [sample.get(name, REMOVED) for sample in samples]
        absent = absent_columns(self._dataset, positions)
        if absent is None:
            return values
        return [REMOVED if name in names else value for value, names in zip(values, absent, strict=True)]

    def _with_absent(self, batch: Batch, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """The same, and what samples lack of the stored columns that are not written."""
        absent = absent_columns(self._dataset, self._source.local(batch.positions)) or []
        for name in dict.fromkeys(name for names in absent for name in names):
            if name not in columns:
                columns[name] = [REMOVED if name in names else _KEPT for names in absent]
        return columns

    def _whole(self, batch: Batch, name: str, values: list[Any] | None) -> list[Any]:
        """The values of a column that is the view's own, those that did not change included."""
        if values is not None and not any(one is _KEPT for one in values):
            return values
        stored = self._values(batch, name)
        return (
            stored
            if values is None
            else [old if new is _KEPT else new for new, old in zip(values, stored, strict=True)]
        )

    def _absent_kept(self, batch: Batch, name: str, values: list[Any]) -> list[Any]:
        """A row that had no such column, and was given None by an operator that took it for that, still has none."""
        stored = self._values(batch, name)
        return [old if new is None and old is REMOVED else new for new, old in zip(values, stored, strict=True)]

    def _changed_only(self, batch: Batch, name: str, values: list[Any]) -> list[Any]:
        # A dropped column of large blobs is not read to be dropped.
        if name not in self._stored or all(one is REMOVED for one in values):
            return values
        stored = self._values(batch, name)
        return [_KEPT if _is_same(new, old) else new for new, old in zip(values, stored, strict=True)]


class _Kept:
    """The row has its stored value."""


_KEPT = _Kept()


def _is_same(new: Any, old: Any) -> bool:
    """Whether a value would be stored in the same bytes, as far as that is cheap to tell."""
    if type(new) is not type(old):
        return False
    if isinstance(new, str | bytes | bool | int) or new is None:
        return new == old
    if isinstance(new, list):
        return len(new) == len(old) and all(map(_is_same, new, old))
    if isinstance(new, dict):
        return list(new) == list(old) and all(_is_same(new[name], old[name]) for name in new)
    return False


def _listed(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    return values.tolist() if getattr(values, "ndim", 0) == 1 else list(values)


def _runs(columns: Mapping[str, list[Any]], rows: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Consecutive rows in which the same columns are KEPT or REMOVED: where they start and stop, and these columns."""
    partly = {name: values for name, values in columns.items() if any(one is REMOVED or one is _KEPT for one in values)}
    start = 0
    while start < rows:
        marks = _marks(partly, start)
        stop = start + 1
        while stop < rows and (not partly or _marks(partly, stop) == marks):
            stop = stop + 1 if partly else rows
        yield start, stop, marks
        start = stop


def _marks(columns: Mapping[str, list[Any]], row: int) -> dict[str, Any]:
    return {name: values[row] for name, values in columns.items() if values[row] is REMOVED or values[row] is _KEPT}
