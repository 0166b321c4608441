"""Conversion between formats, and from what other libraries hold in memory."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from jinx import _core
from jinx.conversion.remote import fetched, is_address
from jinx.conversion.run import Embedding, Progress, Run
from jinx.formats.registry import target_format
from jinx.formats.sources import Inputs, find_inputs
from jinx.parts import parse_part, part_folder
from jinx.sizes import parse_size
from jinx.writer import checked_meta, refuse_existing, shard_bytes

if TYPE_CHECKING:
    from jinx.dataset import Dataset

Path = str | os.PathLike[str]


def convert(
    source: Any,
    out: Path,
    *,
    sidecar: bool = True,
    compression: str | None = "auto",
    limit: int | None = None,
    fields: Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    rename: Mapping[str, str] | None = None,
    embed: str | Sequence[str] | None = None,
    root: Path | None = None,
    missing: Literal["fail", "skip", "null"] = "fail",
    media_dir: Path | None = None,
    drop_nulls: bool = False,
    columns: Sequence[str] | None = None,
    shard_size: int | str | None = None,
    overwrite: bool = False,
    append: bool = False,
    split: str | None = None,
    meta: Mapping[str, Any] | None = None,
    mixed: Literal["error", "json"] = "error",
    on_error: Literal["fail", "skip"] = "fail",
    rejects: Path | None = None,
    resume: bool = False,
    part: str | tuple[int, int] | None = None,
    markers: bool = False,
    threads: int = 0,
    from_: str | None = None,
    to: str | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Convert between Parquet, JSON lines or arrays, MessagePack, WebDataset tars, MDS and JINX; reads Arrow too.

    Rows stream through: memory does not grow with the data. The same input gives the same bytes. An output that
    exists stays as it was until everything is written, and for good when something fails.

    Args:
        source: A file, a folder, a pattern such as `"part-*.parquet"`, an address such as `"s3://bucket/*.parquet"`
            (copied beside the output meanwhile), or a list of these; or a Hugging Face `datasets.Dataset` (nothing is
            decoded) or `DatasetDict`, a `jinx.Dataset`, anything with `__arrow_c_stream__`, or an iterable of dicts.
            A folder whose files are named after splits, and a `DatasetDict`, become one dataset for each split.
        out: Where to; the suffix names the format, and a name without one is a folder of JINX shards, or with
            `to="parquet"` one of files named as the Hub expects them (`train-00000-of-00004.parquet`).
        sidecar: Large binary values go to a second file beside (JINX).
        compression: `"auto"` is zstd for JINX, snappy for Parquet, and for the others what the suffix says; otherwise
            `"zstd"`, `"gz"` or `"snappy"`, with a level after a colon (`"zstd:9"`), or None. MDS takes `"sample::zstd"`
            too, which compresses every sample by itself.
        limit: Only the first samples.
        fields: Only these top-level fields.
        drop: Leave out these top-level fields.
        rename: New names of fields by their old ones; done after `fields`.
        embed: Fields that hold paths of files, which are read in; dotted, and lists on the way are gone through.
        root: Where these paths count from; the folder of the first input if None. Paths that lead out of it are errors.
        missing: What to do when such a file is not there: an error, leave the row out, or None in its place.
        media_dir: Binary values go to files in this folder, and their paths stand in the rows (not for JINX).
        drop_nulls: Leave out the members that are None inside nested dicts, which Arrow fills in.
        columns: More columns for sorting and filtering (JINX); see `Writer`.
        shard_size: Where a folder's shards end: `"512MB"` or bytes; 1 GB if None.
        overwrite: Replace an output that exists.
        append: Add shards to a folder that exists.
        split: The split's name, kept with the data; of a folder with several splits, the one to convert.
        meta: A dict of anything JSON can hold, kept in the footer as it is (JINX).
        mixed: What to do with a field whose values have no common type, where the output needs one (Parquet): an error
            that names it, or its values as JSON text.
        on_error: `"skip"` leaves out rows that cannot be read or written, counts them, and lists them in `rejects`.
        rejects: Where they are listed as JSON lines (source, line or row, field, reason); if None,
            `OUT.rejected.jsonl`.
        resume: Go on where an interrupted conversion of the same inputs with the same options into a folder has ended.
        part: `"3/8"` writes the fourth of eight parts of the folder `out`, from its share of the input files; when all
            are written, `jinx.merge` makes them one dataset.
        markers: Read markers such as `{"$bytes": "AA=="}` in every row of JSON lines, MessagePack and tars, also in
            rows that do not say that they hold some: for exports of earlier versions.
        threads: How many threads; 0 for one per core. The bytes written do not depend on it.
        from_: The input's format (`"parquet"`, `"arrow"`, `"jsonl"`, `"msgpack"`, `"jinx"`, ...), if the suffix does
            not say.
        to: The output's format, likewise.
        progress: Called about ten times a second with rows, bytes read, and bytes in all (None if unknown).

    Returns:
        `rows`, `bytes` (the sidecar's included), `sidecar_bytes` and `shards` of what was written, and how many rows
        were `skipped`.

    Raises:
        FileNotFoundError: An input does not exist; the message names the nearest one.
        FileExistsError: The output exists, and `overwrite` was not asked for.
        JinxError: A row cannot be read, or has no exact counterpart in the output; the message says which and why.
    """
    for name, number in (("limit", limit), ("threads", threads)):
        if number is not None and not 0 <= number <= sys.maxsize:
            raise ValueError(f"{name}={number} is out of range; give a number from 0 to {sys.maxsize}")
    target = os.fsdecode(out)
    kind = to or target_format(target)
    codec, _, level = _codec(compression, kind)
    if level and not level.isdigit():
        raise ValueError(f"compression {compression!r}: the level must be a number, as in 'zstd:9'")
    if on_error == "skip" and rejects is None:
        rejects = f"{target.rstrip('/')}.rejected.jsonl" if target != "-" else os.devnull
    options = {
        "sidecar": sidecar,
        "compression": None if codec == "auto" else codec,
        "level": int(level) if level else None,
        "limit": limit,
        "fields": None if fields is None else list(fields),
        "drop": None if drop is None else list(drop),
        "rename": None if rename is None else dict(rename),
        "drop_nulls": drop_nulls,
        "media_dir": None if media_dir is None else os.fspath(media_dir),
        "columns": None if columns is None else list(columns),
        "shard_size": shard_bytes(target, shard_size) if kind == "jinx" else _given(shard_size),
        "overwrite": overwrite,
        "append": append,
        "split": split,
        "meta": None if meta is None else checked_meta(meta),
        "mixed": mixed,
        "rejects": None if on_error == "fail" or rejects is None else os.path.abspath(rejects),  # noqa: PTH100
        "resume": resume,
        "markers": markers,
        "threads": threads,
    }
    if part is not None:
        return _part(source, target, part, options, from_, progress)
    if not overwrite and not append:
        refuse_existing(target)
    run = Run(target, kind, options, progress)
    if not _is_paths(source):
        if embed is not None or resume:
            raise ValueError("embed and resume are for files as inputs")
        return run.objects(source)
    embedding = None
    if embed is not None:
        names = [embed] if isinstance(embed, str) else list(embed)
        embedding = Embedding(names, None if root is None else os.fspath(root), missing)
    return run.paths(source, from_, embedding)


def _given(shard_size: int | str | None) -> int | None:
    return None if shard_size is None else parse_size(shard_size)


def _part(  # noqa: PLR0917 - what convert has at hand
    source: Any,
    out: str,
    part: str | tuple[int, int],
    options: dict[str, Any],
    from_: str | None,
    progress: Progress | None,
) -> dict[str, int]:
    """One part of a folder, from its share of the input files."""
    number, parts = parse_part(part)
    if not _is_paths(source):
        raise ValueError("part is for files as inputs; from Python, use Writer(out, part=i, parts=n)")
    inputs = find_inputs(source, from_)
    if len(inputs.files) < parts:
        raise ValueError(f"{len(inputs.files)} input files cannot be shared by {parts} parts; use at most as many")
    first, last = (len(inputs.files) * edge // parts for edge in (number, number + 1))
    target = part_folder(out, number, parts)
    run = Run(target, "jinx", {**options, "overwrite": True, "resume": False}, progress)
    return run.files(Inputs(inputs.files[first:last], inputs.format))


def _codec(compression: str | None, kind: str) -> tuple[str, str, str]:
    """The codec's name and level; in MDS `sample::` before it says that samples are compressed one by one."""
    text = "none" if compression is None else compression
    if text.startswith("sample::"):
        if kind != "mds":
            raise ValueError(f"compression {text!r}: only MDS compresses samples one by one; leave out 'sample::'")
        name, colon, level = text.removeprefix("sample::").partition(":")
        return f"sample::{name}", colon, level
    return text.partition(":")


def from_arrow(data: Any, path: Path, **options: Any) -> "Dataset":
    """Write anything with `__arrow_c_stream__` (pyarrow, polars, DuckDB, pandas, ...) to `path` and open it.

    Args:
        data: The table.
        path: Where to; see `convert`, which also describes the options.
        **options: As for `convert`.
    """
    from jinx.opening import open

    if not hasattr(data, "__arrow_c_stream__"):
        raise TypeError(f"{type(data).__name__} has no __arrow_c_stream__, so it is no Arrow table")
    target = os.fsdecode(path)
    run_options: dict[str, Any] = {"to": "jinx", **options}
    convert(data, target, **run_options)
    return open(target)


def stream(
    path: Path | Sequence[Path],
    fields: Iterable[str] | None = None,
    *,
    markers: bool = False,
    from_: str | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of any input format as plain dicts, one by one.

    Args:
        path: A file, a folder, a pattern, an address, or a list of these.
        fields: Only these top-level fields.
        markers: Read markers also in rows that do not say that they hold some; see `convert`.
        from_: The format, if the suffix does not say.
    """
    names = None if fields is None else list(fields)
    paths = [os.fsdecode(one) for one in ([path] if isinstance(path, str | bytes | os.PathLike) else path)]  # pyright: ignore[reportUnnecessaryIsInstance]
    if any(is_address(one) for one in paths):
        return _stream_fetched(paths, names, from_, markers=markers)
    inputs = find_inputs(paths, from_)
    # Each is opened in its turn, when the working directory may be another one.
    files = [file if file == "-" else os.path.abspath(file) for file in inputs.files]  # noqa: PTH100 - text in, text out
    return _core.stream(files, source_format=inputs.format, fields=names, markers=markers)


def _stream_fetched(
    paths: list[str], names: list[str] | None, from_: str | None, *, markers: bool
) -> Iterator[dict[str, Any]]:
    with fetched(paths, tempfile.gettempdir()) as local:
        inputs = find_inputs(local, from_)
        yield from _core.stream(inputs.files, source_format=inputs.format, fields=names, markers=markers)


def _is_paths(source: Any) -> bool:
    """Whether the source is named by paths."""
    if isinstance(source, str | os.PathLike):
        return True
    if not isinstance(source, list | tuple):
        return False
    items: list[Any] = list(source)  # pyright: ignore[reportUnknownArgumentType]
    return bool(items) and all(isinstance(item, str | os.PathLike) for item in items)
