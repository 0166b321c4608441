"""The columns that a part stores itself: those that replace columns of its source, and new ones."""

import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

from jinx_pipeline.operators.api.batch import REMOVED, STATS, Batch
from jinx_pipeline.operators.api.sample_source import absent_columns
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.plan.stage import Stage


class _Kept:
    """The type of `KEPT`."""

    def __reduce__(self) -> str:
        return "KEPT"


KEPT: Final = _Kept()
"""A value of a column to write: the row keeps its stored value."""


class PartColumns:
    """The columns that a stage writes for a batch.

    The bytes of a row depend on the row and the stage alone, never on the batch that it was in, so that every schedule
    gives the same output. Columns that operators declare to write are therefore written for every row; of others, those
    whose value differs from the stored one.

    Args:
        stage: The stage.
        source: The source of the rows.
    """

    def __init__(self, stage: Stage, source: OpenSource) -> None:
        self._stage = stage
        self._source = source
        self._dataset = source.dataset
        self.stored = set(self._dataset.column_names)
        writing = [] if stage.measure_only else stage.operators
        writes = {stage.roles.column(name) for operator in writing for name in operator.writes}
        self._declared = [name for name in sorted(writes) if name in self.stored]

    def samples(self, batch: Batch) -> Iterable[Mapping[str, Any]]:
        """Samples that are not rows of the dataset."""
        return batch.to_samples(stats=self._stage.keep_stats and bool(batch.stats))

    def to_write(self, batch: Batch) -> dict[str, list[Any]]:
        """The columns to write in place of the stored ones; REMOVED where a row keeps or lacks its stored value."""
        # With `measure_only`, the output of mappers is for the filters after them and is not written.
        changed = {} if self._stage.measure_only else batch.changed
        columns: dict[str, list[Any]] = {}
        for name in self._declared:
            columns[name] = _listed(changed[name]) if name in changed else self._values(batch, name)
            if None in columns[name]:
                columns[name] = self._absent_kept(batch, name, columns[name])
        # Sorted, so that the order does not depend on the first sample with a column.
        for name in sorted(changed.keys() - columns.keys()):
            columns[name] = self._changed_only(batch, name, _listed(changed[name]))
        if not self._stage.keep_stats:
            if STATS in self.stored:
                columns[STATS] = [REMOVED] * len(batch)
        elif batch.stats:
            columns[STATS] = batch.stats_column(self._stage.stat_order)
        return columns

    def with_absent(self, batch: Batch, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """The columns to write, with a column for each stored one that is not in them and that some sample lacks."""
        absent = absent_columns(self._dataset, self._source.local(batch.positions)) or []
        for name in dict.fromkeys(name for names in absent for name in names):
            if name not in columns:
                columns[name] = [REMOVED if name in names else KEPT for names in absent]
        return columns

    def whole(self, batch: Batch, name: str, values: list[Any] | None) -> list[Any]:
        """All values of a column that the view stores itself, including those that did not change."""
        if values is not None and not any(value is KEPT for value in values):
            return values
        stored = self._values(batch, name)
        return (
            stored if values is None else [old if new is KEPT else new for new, old in zip(values, stored, strict=True)]
        )

    def _values(self, batch: Batch, name: str) -> list[Any]:
        """The stored values of a column; REMOVED where a sample has none."""
        if name not in self.stored:
            return [REMOVED] * len(batch)
        positions = self._source.local(batch.positions)
        samples = self._dataset.take(positions, [name])
        values = [sample.get(name, REMOVED) for sample in samples]
        absent = absent_columns(self._dataset, positions)
        if absent is None:
            return values
        return [REMOVED if name in names else value for value, names in zip(values, absent, strict=True)]

    def _absent_kept(self, batch: Batch, name: str, values: list[Any]) -> list[Any]:
        """The values, without the None that an operator returned for rows that lack the column."""
        stored = self._values(batch, name)
        return [old if new is None and old is REMOVED else new for new, old in zip(values, stored, strict=True)]

    def _changed_only(self, batch: Batch, name: str, values: list[Any]) -> list[Any]:
        # To drop a column, its values need not be read: they may be large.
        if name not in self.stored or all(value is REMOVED for value in values):
            return values
        stored = self._values(batch, name)
        return [KEPT if _is_same(new, old) else new for new, old in zip(values, stored, strict=True)]


def _is_same(new: Any, old: Any) -> bool:
    """Whether two values would be stored as the same bytes; False if that is expensive to tell."""
    if type(new) is not type(old):
        return False
    if isinstance(new, str | bytes | bool | int) or new is None:
        return new == old
    if isinstance(new, float):
        return struct.pack("d", new) == struct.pack("d", old)
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
