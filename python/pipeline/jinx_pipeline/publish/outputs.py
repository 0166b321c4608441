"""The output, made of the parts in the order of the input: the same bytes for any engine, schedule and retry."""

import errno
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import jinx
from jinx._dataset.added_columns import with_lengths_text
from jinx._views.meta import COUNTED, kept_meta
from jinx._views.save import save as save_view
from jinx.errors import MismatchError
from jinx_pipeline.operators.api.sample_source import ABSENT, ID, PRIVATE, ROW, absent_columns
from jinx_pipeline.plan.output_meta import MEMBER
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.recipe.model import Export
from jinx_pipeline.runlog.work_dir import remove_part

_SHARD_BYTES = 1_000_000_000
# Rows whose missing columns are looked up at a time.
_COPIED_ROWS = 10_000
# Names that `jinx.convert` has for formats.
_FORMATS = {"webdataset": "tar"}


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        path: Where.
        samples: Samples in it.
        bytes: Of all its files.
        shards: Files of samples.
    """

    path: str
    samples: int
    bytes: int
    shards: int


def publish(
    export: Export,
    blocks: Sequence[Sequence[Path]],
    base: tuple[str, ...],
    writer: Mapping[str, Any],
) -> Written:
    """Make the output, in one step at the end.

    Args:
        export: What and where.
        blocks: The parts of each block, in order; more than one where the block was divided.
        base: The dataset whose rows the parts are; none where they hold rows of their own.
        writer: Keywords of `jinx.Writer`.

    Raises:
        OSError: It cannot be written; nothing has changed then.
    """
    parts = [part for block in blocks for part in block]
    if export.kind == "view":
        return _view(export, parts, base, writer)
    if export.kind != "jinx":
        return _converted(export, parts, base, writer["meta"])
    is_file = export.path.endswith(".jinx")
    options = {name: value for name, value in writer.items() if not (is_file and name == "shard_size")}
    return _copied(export, parts, base, {**options, "overwrite": export.overwrite})


def append_parts(
    export: Export, blocks: Sequence[Sequence[Path]], base: tuple[str, ...], writer: Mapping[str, Any]
) -> Written:
    """Add the samples of blocks to a directory of shards, in one step at the end; the arguments as for `publish`.

    Raises:
        OSError: They cannot be written; nothing has changed then.
    """
    return _copied(export, [part for block in blocks for part in block], base, {**writer, "append": True})


def _dataset(parts: Sequence[Path], base: tuple[str, ...]) -> "jinx.Dataset":
    """The rows of all parts; of none, the base without rows."""
    if not parts:
        return OpenSource(Source(base)).dataset.select([])
    # Parts that are shards of the output hold the samples themselves.
    shown = base if parts[0].suffix == ".jinx" else ()
    return OpenSource(Source(shown, tuple(str(part) for part in parts))).dataset


def _copied(export: Export, parts: Sequence[Path], base: tuple[str, ...], options: Mapping[str, Any]) -> Written:
    """Copy the samples as they are stored; the writer publishes them at once."""
    with jinx.Writer(export.path, **options) as made:
        if parts or base:
            _copy_all(made, _dataset(parts, base))
        done = made.close()
    return Written(export.path, done.samples, done.bytes, done.shards)


def _copy_all(writer: jinx.Writer, dataset: "jinx.Dataset") -> None:
    hidden = [name for name in PRIVATE if name in dataset.column_names]
    if ABSENT not in hidden:
        writer.copy(dataset, drop=hidden)
        return
    for first in range(0, len(dataset), _COPIED_ROWS):
        positions = np.arange(first, min(first + _COPIED_ROWS, len(dataset)))
        absent = absent_columns(dataset, positions) or []
        # Rows one after another that lack the same columns.
        for names, found in groupby(zip(positions, absent, strict=True), lambda one: one[1]):
            writer.copy(dataset, [int(position) for position, _ in found], drop=[*hidden, *names])


def group_parts(export: Export, blocks: Sequence[Sequence[Path]], writer: Mapping[str, Any]) -> list[list[Path]] | None:
    """Which parts become one shard together, if the parts can become the shards of the output.

    The answer is to be recorded before `build_shards` moves the parts away. None: `publish` copies them, because the
    output is one file, exists, or has no sample.
    """
    out = Path(export.path)
    if export.kind != "jinx" or out.suffix == ".jinx" or os.path.lexists(out) or not any(blocks):
        return None
    return _groups([_joined(block, writer) for block in blocks if block], _shard_bytes(export))


def build_shards(out: Path, groups: Sequence[Sequence[Path]], writer: Mapping[str, Any]) -> None:
    """Make the parts the shards of a directory; small ones are joined, and nothing else is copied.

    An interrupted call is finished by calling it again.

    Args:
        out: The directory.
        groups: As `group_parts` says.
        writer: Keywords of `jinx.Writer`.
    """
    count = len(groups)
    if (out / "jinx.json").exists():
        # An earlier call ended when all was in place; it may not have removed what is left of parts.
        for left in out.glob(".part-*"):
            shutil.rmtree(left, ignore_errors=True)
        return
    out.mkdir(parents=True, exist_ok=True)
    for number, group in enumerate(groups):
        target = out / f".part-{number:05}-of-{count:05}"
        if (target / "jinx.json").exists():
            continue  # an earlier call came as far as this
        if len(group) == 1 and _renamed(group[0], target):
            continue
        with jinx.Writer(out, part=(number, count), **writer) as made:
            for part in group:
                made.copy(jinx.open(part))
    jinx.merge(out)


def written_before(out: Path) -> Written:
    """What an output holds that is whole."""
    info = jinx.open(out).info()
    return Written(str(out), info.samples, info.bytes + info.sidecar_bytes, info.shards)


def _renamed(part: Path, target: Path) -> bool:
    try:
        part.rename(target)
    except OSError as error:
        if error.errno == errno.EXDEV:  # on another disk
            return False
        raise
    return True


def _joined(block: Sequence[Path], writer: Mapping[str, Any]) -> Path:
    """The one part of a block; of a block that was divided, its pieces are copied into one, with the same bytes."""
    if len(block) == 1:
        return block[0]
    target = block[0].with_name(f"{block[0].name}.joined")
    if not (target / "jinx.json").exists():
        remove_part(target)
        with jinx.Writer(target, **writer) as made:
            for part in block:
                made.copy(jinx.open(part))
    return target


def _groups(parts: list[Path], shard_bytes: int) -> list[list[Path]]:
    """Parts that become one shard together."""
    groups: list[list[Path]] = []
    size = 0
    for part in parts:
        info = jinx.open(part).info()
        more = info.bytes + info.sidecar_bytes
        if groups and size + more <= shard_bytes:
            groups[-1].append(part)
            size += more
        else:
            groups.append([part])
            size = more
    return groups


def _shard_bytes(export: Export) -> int:
    from jinx._sizes import parse_size

    return _SHARD_BYTES if export.shard_size is None else parse_size(export.shard_size)


def _view(export: Export, parts: Sequence[Path], base: tuple[str, ...], writer: Mapping[str, Any]) -> Written:
    """A saved view: which rows of the input remain, and the columns that they have of their own."""
    source = OpenSource(Source(base, tuple(str(part) for part in parts)))
    whole = source.base
    if whole is None:
        raise ValueError("a view shows rows of the input, and these are new ones; export with kind: jinx")
    if not parts:
        # A view of no sample shows nothing of any file; a dataset without samples is the same to its readers.
        with jinx.Writer(export.path, overwrite=export.overwrite, meta=writer["meta"]) as made:
            done = made.close()
        return Written(export.path, done.samples, done.bytes, done.shards)
    dataset = source.dataset
    rows = np.asarray(dataset.column(ROW), dtype=np.int64)
    names = [name for name in dataset.column_names if name not in PRIVATE]
    own = list(dict.fromkeys([*source.own_columns(), *(name for name in source.hidden_columns() if name in names)]))
    lacking = [name for name in whole.column_names if name not in names]
    view = whole if len(rows) == len(whole) and bool((rows == np.arange(len(rows))).all()) else whole.select(rows)
    if lacking:
        view = view.drop_columns(lacking)
    columns: dict[str, Any] = {name: dataset.column(name) for name in own}
    if ID in dataset.column_names and len(np.unique(rows)) < len(rows):
        columns["id" if "id" not in whole.column_names else "__dj__id__"] = dataset.column(ID)
    if columns:
        view = view.with_columns(columns)
    # What the inputs say of themselves is found in them. Of which values lengths were counted, the plan says: parts
    # have the columns that an input which is a view has of its own, whether they were changed or not.
    told = {name: writer["meta"][name] for name in (COUNTED, MEMBER) if name in writer["meta"]}
    meta = {**kept_meta(view), **told}
    done = save_view(view, export.path, overwrite=export.overwrite, meta=meta)
    return Written(export.path, done.samples, done.bytes, done.shards)


def _conversion(export: Export) -> dict[str, Any]:
    """Keywords of `jinx.convert` for an output."""
    options: dict[str, Any] = {"overwrite": export.overwrite, "output_format": _FORMATS.get(export.kind, export.kind)}
    if export.shard_size is not None:
        options["shard_size"] = export.shard_size
    return options


def _converted_nothing(export: Export) -> Written:
    """The output without samples where they would have been new ones, so that no file tells their columns."""
    with TemporaryDirectory(prefix=".absent.") as folder:
        with jinx.Writer(Path(folder) / "none.jinx") as writer:
            writer.close()
        done = jinx.convert(Path(folder) / "none.jinx", export.path, **_conversion(export))
    return Written(export.path, done.samples, done.bytes, done.shards)


def _converted(export: Export, parts: Sequence[Path], base: tuple[str, ...], meta: Mapping[str, Any]) -> Written:
    if not parts:
        with suppress(MismatchError):  # a column of the base mixes kinds, which matters to no sample
            if base:
                done = jinx.convert(_dataset(parts, base), export.path, **_conversion(export))
                return Written(export.path, done.samples, done.bytes, done.shards)
        return _converted_nothing(export)
    dataset = _dataset(parts, base)
    hidden = [name for name in PRIVATE if name in dataset.column_names]
    options = _conversion(export)
    with TemporaryDirectory(prefix=".absent.", dir=parts[0].parent) as folder:
        if ABSENT in hidden:
            # Of a view, a column that some samples lack is null in them.
            with jinx.Writer(Path(folder) / "whole") as writer:
                _copy_all(writer, dataset)
                writer.close()
            dataset, hidden = jinx.open(Path(folder) / "whole"), []
        if hidden:
            dataset = dataset.drop_columns(hidden)
        if COUNTED in meta and export.kind == "parquet":
            # As for a view, the plan says it.
            dataset = with_lengths_text(dataset, json.dumps(meta[COUNTED]))
        done = jinx.convert(dataset, export.path, **options)
    return Written(export.path, done.samples, done.bytes, done.shards)
