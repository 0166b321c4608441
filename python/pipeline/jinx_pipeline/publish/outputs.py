"""Writes outputs that are one file or not JINX, from all parts in the order of the input."""

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import jinx
from jinx._dataset.added_columns import with_lengths_text
from jinx._views.meta import COUNTED, kept_meta
from jinx._views.save import write_rows_of
from jinx.errors import MismatchError
from jinx_pipeline.operators.api.batch import STATS
from jinx_pipeline.operators.api.sample_source import ABSENT, ID, PRIVATE, ROW, absent_columns
from jinx_pipeline.plan.output_meta import MEMBER
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.recipe.model import Export

# Rows whose missing columns are looked up at a time.
_COPIED_ROWS = 10_000
# The names of formats in `jinx.convert`, where they differ.
_FORMATS = {"webdataset": "tar"}


def write_output(export: Export, folder: Path, source: OpenSource, writer: Mapping[str, Any]) -> "jinx.WriteResult":
    """Write an output of one of these kinds.

    Args:
        export: The kind of the output, and its final path.
        folder: The directory to write to; the output has its final name there, since files may contain it.
        source: All parts.
        writer: Keywords of `jinx.Writer`.
    """
    target = folder / Path(export.path).name
    if export.kind == "view":
        return _write_view(export, target, source, writer)
    if export.kind != "jinx":
        return _convert(export, target, source, writer["meta"])
    options = {name: value for name, value in writer.items() if name != "shard_size"}
    with jinx.Writer(target, overwrite=True, **options) as output:
        if source.source.base or source.parts:
            _copy_all(output, source)
        return output.close()


def _copy_all(writer: jinx.Writer, source: OpenSource) -> None:
    """Copy the samples as they are stored."""
    dataset, moved = source.dataset, _moved_columns(source)
    hidden = _private(dataset)
    if ABSENT not in hidden and not moved:
        writer.copy(dataset, drop=hidden)
        return
    plain = dataset.drop_columns([*hidden, *(name for name in moved if name in dataset.column_names)])
    for first in range(0, len(dataset), _COPIED_ROWS):
        positions = np.arange(first, min(first + _COPIED_ROWS, len(dataset)))
        absent = absent_columns(dataset, positions) or [[] for _ in positions]
        samples = dataset.take(positions, moved) if moved else [{} for _ in positions]
        own = [
            {name: sample[name] for name in moved if name in sample and name not in names}
            for sample, names in zip(samples, absent, strict=True)
        ]
        # Consecutive rows with the same columns.
        rows = zip(positions, absent, own, strict=True)
        for (names, present), group in groupby(rows, lambda row: (row[1], list(row[2]))):
            run = list(group)
            replace = {name: [values[name] for _, _, values in run] for name in present}
            drop = [name for name in names if name in plain.column_names]
            writer.copy(plain, [int(position) for position, _, _ in run], replace=replace, drop=drop)


def _moved_columns(source: OpenSource) -> list[str]:
    """The columns to put last in every sample, because they are own columns in some parts and not in others.

    The order of the columns of a sample must not depend on its part: a part has its own columns last, and drops a
    column of the base that none of its samples has.
    """
    counts = Counter(name for part in source.parts for name in part._roots()[2] if name not in PRIVATE)
    removed = [name for name in source.hidden_columns() if name in source.dataset.column_names]
    if source.base is None or (not removed and all(count == len(source.parts) for count in counts.values())):
        return []
    return sorted({*counts, *removed}, key=lambda name: (name == STATS, name))


def _private(dataset: "jinx.Dataset") -> list[str]:
    return [name for name in PRIVATE if name in dataset.column_names]


def _write_view(export: Export, target: Path, source: OpenSource, writer: Mapping[str, Any]) -> "jinx.WriteResult":
    """Write a saved view: the remaining rows of the input, and their own columns."""
    base = source.base
    if base is None:
        raise ValueError("a view shows rows of the input, and these rows are new; export with kind: jinx")
    if not source.parts:
        # For readers, a dataset without samples is the same as a view of no samples.
        with jinx.Writer(target, overwrite=True, meta=writer["meta"]) as output:
            return output.close()
    dataset = source.dataset
    rows = np.fromiter(dataset.column(ROW), dtype=np.int64, count=len(dataset))
    view = dataset.drop_columns(_private(dataset))
    if uneven := _uneven_columns(source):
        view = view.with_columns({name: dataset.column(name) for name in uneven})
    if ID in dataset.column_names and len(np.unique(rows)) < len(rows):
        view = view.with_columns({"id" if "id" not in base.column_names else "__dj__id__": dataset.column(ID)})
    # The inputs hold their own `meta`. Which values the lengths were counted of is in the plan: if the input is a view,
    # parts have its own columns, whether they changed or not.
    planned = {name: writer["meta"][name] for name in (COUNTED, MEMBER) if name in writer["meta"]}
    meta = {**kept_meta(view), **planned}
    place = str(Path(export.path).absolute())
    return write_rows_of(base, rows, view, str(target), place=place, meta=meta)


def _uneven_columns(source: OpenSource) -> list[str]:
    """The columns that are own or dropped columns in some parts, and not in others.

    A view stores an own column for all rows: values of the base are written too, and missing values are null.
    """
    counts = Counter(name for part in source.parts for name in part._roots()[2])
    own = [name for name, count in counts.items() if count < len(source.parts) and name not in PRIVATE]
    removed = [name for name in source.hidden_columns() if name in source.dataset.column_names]
    return list(dict.fromkeys([*own, *removed]))


def _convert(export: Export, target: Path, source: OpenSource, meta: Mapping[str, Any]) -> "jinx.WriteResult":
    options: dict[str, Any] = {"overwrite": True, "output_format": _FORMATS.get(export.kind, export.kind)}
    if export.shard_size is not None:
        options["shard_size"] = export.shard_size
    with TemporaryDirectory(prefix=".whole.", dir=target.parent) as folder:
        if not source.parts:
            with suppress(MismatchError):  # a column of the base mixes types, which does not matter without samples
                if source.base is not None:
                    return jinx.convert(source.dataset, target, **options)
            # The columns of new samples are unknown if there are none.
            with jinx.Writer(Path(folder) / "none.jinx") as writer:
                writer.close()
            return jinx.convert(Path(folder) / "none.jinx", target, **options)
        dataset = source.dataset
        hidden = _private(dataset)
        if ABSENT in hidden or _moved_columns(source):
            # In a view, a column is null in the samples that lack it.
            with jinx.Writer(Path(folder) / "whole") as writer:
                _copy_all(writer, source)
                writer.close()
            dataset, hidden = jinx.open(Path(folder) / "whole"), []
        if hidden:
            dataset = dataset.drop_columns(hidden)
        if COUNTED in meta and export.kind == "parquet" and len(dataset):
            # As for a view, this is in the plan.
            dataset = with_lengths_text(dataset, json.dumps(meta[COUNTED]))
        return jinx.convert(dataset, target, **options)
