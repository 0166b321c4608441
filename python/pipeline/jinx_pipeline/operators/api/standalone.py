"""Runs an operator without a pipeline: on a list, a jinx or Hugging Face dataset, an Arrow table, or columns."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import REMOVED, STATS, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.optional import require
from jinx_pipeline.sample.roles import Roles


def run_alone(operator: Operator, samples: Any, roles: Roles, ctx: Context, *, keep_stats: bool, drop: bool) -> Any:
    """A view of a jinx dataset to which the changed columns are added."""
    # The samples are processed in parts, so that not all media are in memory at once.
    runner = FusedOp(operators=[operator]) if operator.kind in FusedOp.LOCAL else operator
    method = runner.run if drop else runner.mark

    def run(batch: Batch) -> Batch:
        return method(batch, ctx)

    if isinstance(samples, Batch):
        return run(samples)
    if isinstance(samples, pa.Table | pa.RecordBatch):
        table = pa.Table.from_batches([samples]) if isinstance(samples, pa.RecordBatch) else samples
        result = _table(run(Batch(table.to_pylist(), roles=roles)), table.schema, keep_stats=keep_stats)
        is_batch = isinstance(samples, pa.RecordBatch) and len(result)
        return result.combine_chunks().to_batches()[0] if is_batch else result
    if isinstance(samples, Mapping):
        return _columns(run(Batch(_rows(samples), roles=roles)), keep_stats=keep_stats)
    if type(samples).__module__.partition(".")[0] == "datasets":
        return _hugging_face(samples, run, roles, keep_stats=keep_stats)
    if isinstance(samples, list):
        return run(Batch(samples, roles=roles)).to_samples(stats=keep_stats)
    before = Batch(samples, roles=roles)
    after = run(before)
    # If the samples have `map` functions, a view would show their output instead of the changes.
    shows_changes = after.source is before.source and not (after.changed and samples._transforms)
    return _view(samples, after, keep_stats=keep_stats) if shows_changes else after.to_samples(stats=keep_stats)


def _view(dataset: Any, batch: Batch, *, keep_stats: bool) -> Any:
    """A view of a jinx dataset, with the changed columns as its own columns."""
    added, removed = _changes(batch, keep_stats=keep_stats)
    view = dataset.select(batch.positions)
    view = view.drop_columns([name for name in removed if name in view.column_names])
    return view.with_columns(added) if added else view


def _hugging_face(dataset: Any, run: Any, roles: Roles, *, keep_stats: bool) -> Any:
    """A Hugging Face dataset of the result; columns that were not changed keep their features."""
    datasets = require("datasets", extra="hf", what="A Hugging Face dataset")
    if not isinstance(dataset, datasets.Dataset):
        raise TypeError(
            f"a Hugging Face Dataset is needed, not {type(dataset).__name__}; run streaming datasets in a pipeline"
        )
    plain = dataset.with_format(None)
    for name, feature in dataset.features.items():
        if isinstance(feature, datasets.Image | datasets.Audio | getattr(datasets, "Video", ())):
            plain = plain.cast_column(name, type(feature)(decode=False))  # operators read the bytes
    before = Batch(plain.to_list(), roles=roles)
    after = run(before)
    if after.source is not before.source:
        return datasets.Dataset.from_list(after.to_samples(stats=keep_stats))
    own, removed = _changes(after, keep_stats=keep_stats)
    selected = dataset.select(after.positions)
    selected = selected.remove_columns([name for name in selected.column_names if name in own or name in removed])
    if not own:
        return selected
    added = datasets.Dataset.from_dict(own)
    for name in own:
        if name in dataset.features:
            added = added.cast_column(name, dataset.features[name])
    combined = datasets.concatenate_datasets([selected, added], axis=1) if selected.column_names else added
    order = [name for name in dataset.column_names if name in combined.column_names]
    return combined.select_columns([*order, *(name for name in combined.column_names if name not in order)])


def _changes(batch: Batch, *, keep_stats: bool) -> tuple[dict[str, list[Any]], list[str]]:
    """The changed or added columns, and the names of columns that were removed from all samples."""
    own = {name: _listed(values) for name, values in batch.changed.items()}
    removed = [name for name, values in own.items() if values and all(value is REMOVED for value in values)]
    added = {
        name: [None if value is REMOVED else value for value in values]
        for name, values in own.items()
        if name not in removed
    }
    if keep_stats:
        added[STATS] = batch.stats_column()
    return added, removed


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Columns as rows."""
    listed = {name: _listed(values) for name, values in columns.items()}
    counts = {len(values) for values in listed.values()}
    if len(counts) > 1:
        raise ValueError(f"columns of different lengths: { {name: len(values) for name, values in listed.items()} }")
    return [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]


def _columns(batch: Batch, *, keep_stats: bool) -> dict[str, Any]:
    """Rows as columns: numbers as ndarrays, everything else as ndarrays of objects."""
    rows = batch.to_samples(stats=keep_stats)
    names = dict.fromkeys(name for row in rows for name in row) or dict.fromkeys(batch.column_names)
    columns: dict[str, Any] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values}
        if len(kinds) == 1 and kinds <= {int, float, bool}:
            columns[name] = np.array(values)
        else:
            columns[name] = np.empty(len(values), dtype=object)
            columns[name][:] = values
    return columns


def _table(batch: Batch, schema: pa.Schema, *, keep_stats: bool) -> pa.Table:
    """A table whose columns keep their types if the values still fit them."""
    rows = batch.to_samples(stats=keep_stats)
    names: list[str] = list(dict.fromkeys([*batch.column_names, *([STATS] if keep_stats else [])]))
    arrays: list[pa.Array] = []
    for name in names:
        values = [row.get(name) for row in rows]
        kind = schema.field(name).type if name in schema.names else None
        try:
            arrays.append(pa.array(values, kind))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            arrays.append(pa.array(values))
    return pa.Table.from_arrays(arrays, names=names)


def _listed(values: Any) -> list[Any]:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.to_pylist()
    return values if isinstance(values, list) else list(values.tolist() if hasattr(values, "tolist") else values)
