"""Writes outputs that are a single file or not JINX, from all parts in the order of the input."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import jinx
from jinx._dataset.added_columns import with_lengths_text
from jinx._saved_views.meta import COUNTED, kept_meta
from jinx._saved_views.save import write_rows_of
from jinx.errors import MismatchError
from jinx_pipeline.operators.api.sample_source import ROW, STATS, without_private
from jinx_pipeline.plan.output_meta import MEMBER
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.publish.typed_vectors import with_typed_vectors
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.worker.own_values import copy_rows, has_column

if TYPE_CHECKING:
    import numpy.typing as npt

# The number of rows whose changed columns are read at a time.
_COPIED_ROWS = 1000
# The names of formats that `jinx.convert` calls differently.
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
    rows = len(source.dataset)
    at_once = rows if source.is_even else _COPIED_ROWS
    for first in range(0, max(rows, 1), max(at_once, 1)):
        copy_rows(writer, source, np.arange(first, min(first + at_once, rows)))


def _write_view(export: Export, target: Path, source: OpenSource, writer: Mapping[str, Any]) -> "jinx.WriteResult":
    """Write a saved view: the remaining rows of the input, and the columns that differ."""
    base = source.base
    if base is None:
        raise ValueError("a view shows rows of the input, and these rows are new; export with kind: jinx")
    if not source.parts:
        # Write an empty dataset: readers cannot tell it from a view without samples.
        with jinx.Writer(target, overwrite=True, meta=writer["meta"]) as output:
            return output.close()
    dataset = source.dataset
    rows = np.fromiter(dataset.column(ROW), dtype=np.int64, count=len(dataset))
    view = without_private(dataset)
    of_base: list[str] = []
    if not source.is_even:
        # If a view stores a column, it stores it for all rows: also the values that rows share with the base, and null
        # for rows without a value.
        own = [name for name in source.own_columns() if name in view.column_names]
        stored = _changed_in_some_row(source).union(base._own_columns())
        of_base = [name for name in own if name not in stored]
        shown = [name for name in own if name not in of_base and _is_shown(source, name)]
        view = view.drop_columns([name for name in own if name not in shown])
        view = view.with_columns({name: partial(_value, name) for name in shown})
    if export.typed_stats and STATS in view.column_names:
        view = _with_typed_stats(view, [path for path in writer.get("indexed", ()) if path.startswith(f"{STATS}.")])
    # The `meta` of the inputs is kept. Which values the lengths were counted from is taken from the plan, not from the
    # parts: parts also contain unchanged columns of an input that is a view.
    planned = {name: writer["meta"][name] for name in (COUNTED, MEMBER) if name in writer["meta"]}
    meta = {**kept_meta(view), **planned}
    place = str(Path(export.path).absolute())
    hidden = [name for name in base.column_names if name not in view.column_names and name not in of_base]
    # A part also hides columns that only rows had which were dropped later. Ignore these: they depend on the division
    # into blocks.
    missing = [name for name in hidden if not _has_any(base, rows, name)]
    with with_typed_vectors(view, writer.get("vectors", ()), target.parent) as typed:
        return write_rows_of(base, rows, typed, str(target), place=place, meta=meta, unhidden=[*of_base, *missing])


def _with_typed_stats(view: "jinx.Dataset", paths: Sequence[str]) -> "jinx.Dataset":
    """The view with a separate column for each numeric statistic; the others stay in `__dj__stats__`."""
    typed = dict[str, Any]()
    for path in paths:
        values = view.column(path)
        if isinstance(values, list) and all(value is None for value in values):
            values = np.ma.MaskedArray(np.zeros(len(view), np.int8), mask=True)
        if isinstance(values, np.ndarray):
            typed[path] = values
    names = frozenset(path.removeprefix(f"{STATS}.") for path in typed)
    has_others = any(_other_stats(names, sample) for sample in view.select_columns([STATS]))
    view = view.with_columns({STATS: partial(_other_stats, names)}) if has_others else view.drop_columns([STATS])
    return view.with_columns(typed)


def _other_stats(names: frozenset[str], sample: Mapping[str, Any]) -> dict[str, Any] | None:
    stats: Mapping[str, Any] = sample.get(STATS) or {}
    return {name: value for name, value in stats.items() if name not in names} or None


def _is_shown(source: OpenSource, name: str) -> bool:
    """Whether any remaining row has a column; in the base, possibly only dropped rows have it."""
    return any(any(has_column(source, chunk, name)) for chunk in _chunks(source))


def _changed_in_some_row(source: OpenSource) -> set[str]:
    """The columns in which any row's value differs from the base or is missing."""
    return {name for chunk in _chunks(source) for name, has_own in source.has_own(chunk).items() if has_own.any()}


def _chunks(source: OpenSource) -> "Iterator[npt.NDArray[np.int64]]":
    rows = len(source.dataset)
    return (np.arange(first, min(first + _COPIED_ROWS, rows)) for first in range(0, rows, _COPIED_ROWS))


def _has_any(base: "jinx.Dataset", rows: "npt.NDArray[np.int64]", name: str) -> bool:
    """Whether any of these rows of the base has a column."""
    chunks = (base.select(rows[first : first + _COPIED_ROWS]) for first in range(0, len(rows), _COPIED_ROWS))
    return any(name in sample for chunk in chunks for sample in chunk)


def _value(name: str, sample: Mapping[str, Any]) -> Any:
    return sample.get(name)


def _in_order_of_samples(dataset: "jinx.Dataset") -> "jinx.Dataset":
    """The dataset with its columns in the order in which they first occur in samples.

    The order of the parts depends on the blocks, which differ between a resumed run and a new one.
    """
    names, seen = set(dataset.column_names), dict[str, None]()
    for sample in dataset:
        seen.update(dict.fromkeys(sample))
        if len(seen) == len(names):
            break
    return dataset.select_columns([*seen, *(name for name in dataset.column_names if name not in seen)])


def _convert(export: Export, target: Path, source: OpenSource, meta: Mapping[str, Any]) -> "jinx.WriteResult":
    options: dict[str, Any] = {"overwrite": True, "output_format": _FORMATS.get(export.kind, export.kind)}
    if export.shard_size is not None:
        options["shard_size"] = export.shard_size
    with TemporaryDirectory(prefix=".whole.", dir=target.parent) as folder:
        if not source.parts:
            with suppress(MismatchError):  # a column of the base has mixed types, which does not matter without samples
                if source.base is not None:
                    return jinx.convert(source.dataset, target, **options)
            # Without any new samples, their columns are unknown.
            with jinx.Writer(Path(folder) / "none.jinx") as writer:
                writer.close()
            return jinx.convert(Path(folder) / "none.jinx", target, **options)
        dataset = without_private(source.dataset)
        if not source.is_even:
            # The view of the parts shows null for a column that a sample lacks; in a copy, the sample lacks it too.
            with jinx.Writer(Path(folder) / "whole") as writer:
                _copy_all(writer, source)
                writer.close()
            dataset = jinx.open(Path(folder) / "whole")
        if export.kind == "parquet":
            dataset = _in_order_of_samples(dataset)
        if COUNTED in meta and export.kind == "parquet" and len(dataset):
            # As for a view, the plan says which values the lengths were counted from.
            dataset = with_lengths_text(dataset, json.dumps(meta[COUNTED]))
        return jinx.convert(dataset, target, **options)
