"""The columns that a part stores itself: replaced columns of its source, and new columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jinx_pipeline.operators.api.batch import REMOVED, STATS, Batch
from jinx_pipeline.operators.api.same_value import is_same_value
from jinx_pipeline.operators.api.sample_source import UNCHANGED
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.worker.own_values import KEPT, has_column, own_values, stored_values


class PartColumns:
    """The columns that a stage writes for a batch.

    The bytes of a row depend on the row and the stage alone, never on the batch that it was in, so that every schedule
    gives the same output. Columns that operators declare to write are therefore written for every row; other columns
    are written if their value differs from the stored one.

    Args:
        stage: The stage.
        source: The source of the rows.
    """

    def __init__(self, stage: Stage, source: OpenSource) -> None:
        self._stage = stage
        self._source = source
        self._stored = set(source.dataset.column_names)
        # Not columns that an operator only adds: other sources may have them.
        writing = [] if stage.measure_only else [operator for operator in stage.operators if not operator.only_adds]
        writes = {stage.roles.column(name) for operator in writing for name in operator.writes}
        self._declared = [name for name in sorted(writes) if name in self._stored]

    def samples(self, batch: Batch) -> Iterable[Mapping[str, Any]]:
        """The columns of samples that are not rows of the dataset."""
        samples = batch.to_samples(stats=self._stage.keep_stats and bool(batch.stats), keeps_ranges=True)
        if not self._stage.keep_stats:
            for sample in samples:
                sample.pop(STATS, None)  # of the samples of a group
        return samples

    def of(self, batch: Batch) -> dict[str, list[Any]]:
        """The values of dataset rows that differ from the base; see `own_values`."""
        return own_values(self._source, batch.positions, self.changed(batch))

    def whole(self, batch: Batch, columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """The columns with stored values instead of `KEPT`; `UNCHANGED` lists these columns for each row."""
        unchanged: list[list[str]] = [[] for _ in range(len(batch))]
        whole = dict(columns)
        for name, values in columns.items():
            kept = [at for at, value in enumerate(values) if value is KEPT]
            if not kept:
                continue
            stored = stored_values(self._source, batch.positions, name)
            whole[name] = [old if new is KEPT else new for new, old in zip(values, stored, strict=True)]
            for at in kept:
                unchanged[at].append(name)
        return {**whole, UNCHANGED: unchanged} if any(unchanged) else whole

    def changed(self, batch: Batch) -> dict[str, list[Any]]:
        """The columns that the stage changed in the stored rows; `KEPT` marks unchanged values."""
        # Measuring changes nothing: mappers' output is only for the filters after them.
        changed = {} if self._stage.measure_only else batch.changed
        columns: dict[str, list[Any]] = {}
        for name in self._declared:
            if name in changed:  # the stored values may be large media
                is_there = has_column(self._source, batch.positions, name)
                columns[name] = _absent_kept(_listed(changed[name]), is_there)
            else:
                stored = stored_values(self._source, batch.positions, name)
                columns[name] = _absent_kept(stored, [value is not REMOVED for value in stored])
        for name in changed.keys() - columns.keys():
            columns[name] = self._changed_only(batch, name, _listed(changed[name]))
        if not self._stage.keep_stats:
            if STATS in self._stored:
                columns[STATS] = [REMOVED] * len(batch)
        elif batch.stats:
            columns[STATS] = batch.stats_column(self._stage.stat_order)
        return columns

    def _changed_only(self, batch: Batch, name: str, values: list[Any]) -> list[Any]:
        if all(value is REMOVED for value in values):
            # Do not read a dropped column: it may contain large blobs.
            return [REMOVED if is_there else KEPT for is_there in has_column(self._source, batch.positions, name)]
        stored = stored_values(self._source, batch.positions, name)
        return [KEPT if is_same_value(new, old) else new for new, old in zip(values, stored, strict=True)]


def _absent_kept(values: Sequence[Any], is_there: Sequence[bool]) -> list[Any]:
    """Mark rows that still lack the column: an operator read None for the missing value, and returned None."""
    return [
        KEPT if not there and (new is None or new is REMOVED) else new
        for new, there in zip(values, is_there, strict=True)
    ]


def _listed(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    return values.tolist() if getattr(values, "ndim", 0) == 1 else list(values)
