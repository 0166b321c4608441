"""`Dataset.save`: writes a view's positions and its own columns; nothing is copied from its bases."""

import json
import os
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from jinx import _core
from jinx._core import Reader
from jinx._dataset.columns import column_names, schema_if_empty
from jinx._outputs import output_name, refuse_existing, refuse_input, refuse_within
from jinx._results import WriteResult
from jinx._saved_views.bases import Base, bases_of, keep_location, refuse_replaced
from jinx._saved_views.meta import kept_meta
from jinx._sizes import shard_bytes as shard_size_of
from jinx._urls import is_url

# The number of samples per call: signals are handled between calls.
_CHUNK_SAMPLES = 1 << 18


def save(
    dataset: Reader,
    path: str | os.PathLike[str],
    *,
    overwrite: bool,
    meta: Mapping[str, Any] | None = None,
    shard_size: int | str | None = None,
) -> WriteResult:
    """See `Dataset.save`. Without `meta`, the view keeps the `meta` of the saved views that it shows."""
    target = output_name(path)
    shard_bytes = shard_size_of(target, shard_size)
    if dataset._transforms:
        raise TypeError(
            "a file cannot hold the functions given to map or with_transform: add their results as columns, "
            "ds.with_columns({'name': function}), or write the samples with jinx.Writer"
        )
    if is_url(target):
        return _save_at_url(dataset, target, overwrite=overwrite, meta=meta, shard_bytes=shard_bytes)
    if not overwrite:
        refuse_existing(target)
    stored = dataset._roots()
    roots = stored[0]
    if any(root.kind == "memory" for root in roots):
        raise ValueError("there is no file below this view; write its samples with jinx.Writer")
    refuse_input(target, [path for root in roots for path in root.paths])
    refuse_within(target, dataset)
    typed = _core.typed_columns(dataset)
    writer = _writer(dataset, target, stored, typed, overwrite=overwrite, meta=meta, shard_bytes=shard_bytes)
    with _aborted_on_error(writer):
        _write_own(writer, dataset, stored[2], typed)
        return WriteResult.of(target, {**writer.close(), "rows": len(dataset)})


def _save_at_url(
    dataset: Reader, url: str, *, overwrite: bool, meta: Mapping[str, Any] | None, shard_bytes: int | None
) -> WriteResult:
    """Write the view on this machine, and copy it to its URL once it is complete."""
    from jinx._remote_output import local_output

    stored = dataset._roots()
    if any(root.kind == "memory" for root in stored[0]):
        raise ValueError("there is no file below this view; write its samples with jinx.Writer")
    if url in {path for root in stored[0] for path in root.paths}:
        raise ValueError(f"{url} is also an input, which is never changed; choose another name")
    typed = _core.typed_columns(dataset)
    place = url if url.endswith(".jinx") else f"{url.rstrip('/')}/shard-00000.jinx"
    with local_output(url, overwrite=overwrite, options=dataset._options) as path:
        writer = _writer(dataset, path, stored, typed, overwrite=True, meta=meta, place=place, shard_bytes=shard_bytes)
        with _aborted_on_error(writer):
            _write_own(writer, dataset, stored[2], typed)
            done = WriteResult.of(url, {**writer.close(), "rows": len(dataset)})
    return done


def write(
    dataset: Reader, target: str, names: Sequence[str], columns: Iterable[Mapping[str, Sequence[Any]]]
) -> WriteResult:
    """Save a view of files; its own columns need not all be in memory; replaces an existing view.

    Args:
        dataset: The view, without functions and without columns of its own.
        target: A path that is not one of its files.
        names: The names of the columns; at least one.
        columns: Their values, in blocks of consecutive samples.
    """
    roots, positions, _ = dataset._roots()
    order = dataset._indices
    writer = _writer(dataset, target, (roots, positions, list(names)), None, overwrite=True, meta=None)
    with _aborted_on_error(writer):
        start = 0
        for values in columns:
            stop = start + len(values[names[0]])
            writer.copy(
                dataset, _places(order, start, stop), [], [(name, values[name]) for name in names], None, own_only=True
            )
            start = stop
        return WriteResult.of(target, {**writer.close(), "rows": len(dataset)})


def write_rows_of(
    base: Reader,
    rows: Any,
    dataset: Reader,
    target: str,
    *,
    place: str,
    meta: Mapping[str, Any] | None,
    unhidden: Collection[str] = (),
) -> WriteResult:
    """Like `write`, for the samples of several views of one base, which the file lists only once.

    Args:
        base: The base.
        rows: The positions of the samples in the base; int64 of shape (n,).
        dataset: The shown samples of all views, in order.
        target: The file.
        place: The final path of the file; paths of bases are relative to it.
        meta: The `meta`, as in `save`.
        unhidden: Columns of the base that the view does not hide, although `dataset` does not have them.
    """
    import numpy as np

    roots, positions, _ = base._roots()
    if positions is not None:
        rows = np.frombuffer(positions, dtype="<u8")[rows]
    is_whole = len(rows) == sum(root.samples for root in roots) and bool((rows == np.arange(len(rows))).all())
    stored = roots, None if is_whole else np.asarray(rows, dtype="<u8").tobytes(), dataset._own_columns()
    typed = _core.typed_columns(dataset)
    writer = _writer(dataset, target, stored, typed, overwrite=True, meta=meta, place=place, unhidden=unhidden)
    with _aborted_on_error(writer):
        _write_own(writer, dataset, stored[2], typed)
        return WriteResult.of(target, {**writer.close(), "rows": len(dataset)})


def _writer(
    dataset: Reader,
    target: str,
    stored: tuple[list[_core.Rows], bytes | None, list[str]],
    typed: _core.TypedColumns | None,
    *,
    overwrite: bool,
    meta: Mapping[str, Any] | None,
    place: str | None = None,
    unhidden: Collection[str] = (),
    shard_bytes: int | None = None,
) -> _core.Writer:
    """A writer for a view's own columns, some of which (`typed`) are arrays.

    `stored` has the files, the positions and the names of all own columns.
    """
    roots, positions, own = stored
    is_by_user = place is None
    if place is None:
        # The shards of a directory store the paths of bases relative to the directory.
        place = target if target.endswith(".jinx") else os.path.join(target, "shard-00000.jinx")  # noqa: PTH118
    options = dataset._options
    bases = [base for root in roots for base in bases_of(root, place, options)]
    if not bases:  # all files are empty; a view has at least one base
        bases = [base for root in roots for base in bases_of(root, place, options, with_empty=True)]
    if not bases:
        raise ValueError("a dataset of no files has nothing to show; there is nothing to save")
    for base in bases if is_by_user else ():
        refuse_replaced(base["entry"], options)
    known = _known_bases(dataset)
    for base in bases:
        before = known.get((base["entry"]["num_samples"], base["entry"]["id"]))
        if before is not None:
            keep_location(before, base["entry"])
    kept = kept_meta(dataset) if meta is None else meta
    return _core.Writer(
        target,
        overwrite=overwrite,
        shard_size=shard_bytes,
        meta=json.dumps(kept, ensure_ascii=False) if kept else None,
        arrow_schema=schema_if_empty(dataset),
        view={
            "bases": json.dumps([base["entry"] for base in bases], ensure_ascii=False),
            "indexes": [base["line_offsets"] for base in bases],
            "positions": positions,
            "drop": [name for name in _hidden(dataset, roots, own) if name not in unhidden],
            "num_samples": len(dataset),
            **({} if typed is None else {"own": typed}),
        },
    )


def _known_bases(dataset: Reader) -> dict[tuple[int, str], Base]:
    """The bases of the saved views below a dataset, by samples and id."""
    definition = dataset._definition
    if definition is None:
        return {}
    if hasattr(definition, "files"):  # a saved view
        entries: list[Base] = definition.files.footer["base"]
        return {(base["num_samples"], base["id"]): base for base in entries}
    return {key: base for part in definition.parts for key, base in _known_bases(part).items()}


@contextmanager
def _aborted_on_error(writer: _core.Writer) -> Generator[None]:
    try:
        yield
    except BaseException:
        writer.abort()
        raise


def _write_own(writer: _core.Writer, dataset: Reader, own: Sequence[str], typed: _core.TypedColumns) -> None:
    """Write the rows, which contain those of the view's own columns that are not typed arrays."""
    if all(name in typed.names for name in own):
        return
    order = dataset._indices
    for start in range(0, len(dataset), _CHUNK_SAMPLES):
        stop = min(start + _CHUNK_SAMPLES, len(dataset))
        writer.copy(dataset, _places(order, start, stop), typed.names, [], None, own_only=True)


def _places(order: bytes | None, start: int, stop: int) -> bytes:
    """The positions of some of a view's samples in its files."""
    import numpy as np

    return np.arange(start, stop, dtype="<u8").tobytes() if order is None else order[8 * start : 8 * stop]


def _hidden(dataset: Reader, roots: Sequence[_core.Rows], own: Sequence[str]) -> list[str]:
    """The columns of the files that the view hides; if files do not list their columns, samples are read."""
    names: dict[str, None] = {}
    # A column in `own` that is missing in all samples would not be in the view's file, so the file would show the
    # column of the base.
    shown = set(column_names(dataset)).difference(own)
    is_plain = dataset._shown_columns is None and dataset._definition is None and not own
    for root in roots:
        listed = root.column_names()
        names.update(dict.fromkeys(listed))
        if not is_plain and not root.lists_columns():
            names.update(_in_samples(dataset._derive(rows=root.whole(), indices=None, columns=None, decoders=None)))
            if dataset._shown_columns is None:
                shown.update(name for name in _in_samples(dataset) if name not in own)
    return [name for name in names if name not in shown]


def _in_samples(dataset: Reader) -> dict[str, None]:
    names: dict[str, None] = {}
    for sample in dataset:
        names.update(dict.fromkeys(sample))
    return names
