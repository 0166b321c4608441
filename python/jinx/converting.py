"""Conversion between formats, and from what other libraries hold in memory."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from jinx import _core
from jinx.formats.registry import target_format
from jinx.formats.sources import Inputs, find_inputs
from jinx.sizes import parse_size
from jinx.writer import refuse_existing

if TYPE_CHECKING:
    from jinx.dataset import Dataset

Progress = Callable[[int, int, int | None], None]
Path = str | os.PathLike[str]


def convert(
    source: Any,
    out: Path,
    *,
    sidecar: bool = True,
    compression: str | None = "auto",
    limit: int | None = None,
    fields: Iterable[str] | None = None,
    rename: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    shard_size: int | str | None = None,
    overwrite: bool = False,
    append: bool = False,
    split: str | None = None,
    meta: Mapping[str, Any] | None = None,
    mixed: Literal["error", "json"] = "error",
    threads: int = 0,
    from_: str | None = None,
    to: str | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Convert between Parquet, JSON lines, MessagePack and JINX, any to any.

    Rows stream through: memory does not grow with the data. The same input gives the same bytes. An output that
    exists stays as it was until everything is written, and for good when something fails.

    Args:
        source: A file, a folder, a pattern such as `"part-*.parquet"`, or a list of these; or a Hugging Face
            `datasets.Dataset` (nothing is decoded) or `DatasetDict` (one folder for each split), a `jinx.Dataset`,
            anything with `__arrow_c_stream__`, or an iterable of dicts.
        out: Where to; the suffix names the format, and a name without one is a folder of JINX shards.
        sidecar: Large binary values go to a second file beside (JINX).
        compression: `"auto"` is zstd for JINX, snappy for Parquet, and for the others what the suffix says; otherwise
            `"zstd"`, `"gz"` or `"snappy"`, with a level after a colon (`"zstd:9"`), or None.
        limit: Only the first samples.
        fields: Only these top-level fields.
        rename: New names of fields by their old ones; done after `fields`.
        columns: More columns for sorting and filtering (JINX); see `Writer`.
        shard_size: Where a folder's shards end: `"512MB"` or bytes.
        overwrite: Replace an output that exists.
        append: Add shards to a folder that exists.
        split: The split's name, kept with the data.
        meta: Anything JSON can hold, kept in the footer (JINX).
        mixed: What to do with a field whose values have no common type, where the output needs one (Parquet): an error
            that names it, or its values as JSON text.
        threads: How many threads; 0 for one per core. The bytes written do not depend on it.
        from_: The input's format (`"parquet"`, `"jsonl"`, `"msgpack"`, `"jinx"`), if the suffix does not say.
        to: The output's format, likewise.
        progress: Called about ten times a second with rows, bytes read, and bytes in all (None if unknown).

    Returns:
        `rows`, `bytes` (the sidecar's included), `sidecar_bytes` and `shards` of what was written.

    Raises:
        FileNotFoundError: An input does not exist; the message names the nearest one.
        FileExistsError: The output exists, and `overwrite` was not asked for.
        JinxError: A row cannot be read, or has no exact counterpart in the output; the message says which and why.
    """
    target = os.fspath(out)
    kind = to or target_format(target)
    codec, _, level = _codec(compression, kind)
    if level and not level.isdigit():
        raise ValueError(f"compression {compression!r}: the level must be a number, as in 'zstd:9'")
    options = {
        "sidecar": sidecar,
        "compression": None if codec == "auto" else codec,
        "level": int(level) if level else None,
        "limit": limit,
        "fields": None if fields is None else list(fields),
        "rename": None if rename is None else dict(rename),
        "columns": None if columns is None else list(columns),
        "shard_size": None if shard_size is None else parse_size(shard_size),
        "overwrite": overwrite,
        "append": append,
        "split": split,
        "meta": None if meta is None else dict(meta),
        "mixed": mixed,
        "threads": threads,
    }
    if not overwrite and not append:
        refuse_existing(target)
    run = _Run(target, kind, options, progress)
    if _is_paths(source):
        return run.files(find_inputs(source, from_))
    return run.objects(source)


def _codec(compression: str | None, kind: str) -> tuple[str, str, str]:
    """The codec's name and level; in MDS `sample::` before it says that samples are compressed one by one."""
    text = "none" if compression is None else compression
    if kind == "mds" and text.startswith("sample::"):
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
    target = os.fspath(path)
    run_options: dict[str, Any] = {"to": "jinx", **options}
    convert(data, target, **run_options)
    return open(target)


def stream(
    path: Path | Sequence[Path], fields: Iterable[str] | None = None, *, from_: str | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of any input format as plain dicts, one by one.

    Args:
        path: A file, a folder, a pattern, or a list of these.
        fields: Only these top-level fields.
        from_: The format, if the suffix does not say.
    """
    inputs = find_inputs(path, from_)
    return _core.stream(inputs.files, source_format=inputs.format, fields=None if fields is None else list(fields))


class _Run:
    """One conversion: where to and how."""

    def __init__(self, out: str, target: str, options: dict[str, Any], progress: Progress | None) -> None:
        self.out = out
        self.target = target
        self.options = options
        self.progress = progress

    def files(self, inputs: Inputs) -> dict[str, int]:
        return _core.convert(
            inputs.files,
            self.out,
            source_format=inputs.format,
            target_format=self.target,
            options=self._json(),
            progress=self.progress,
        )

    def objects(self, source: Any) -> dict[str, int]:
        from jinx.dataset import Dataset

        if isinstance(source, Dataset):
            return self._dataset(source)
        if type(source).__module__.split(".")[0] == "datasets":
            return self._hugging_face(source)
        if hasattr(source, "__arrow_c_stream__"):
            return self._arrow(source)
        if not hasattr(source, "__iter__") or isinstance(source, bytes | Mapping):
            kind = type(source).__name__  # pyright: ignore[reportUnknownArgumentType]
            raise TypeError(f"{kind} cannot be converted: give paths, a table, or an iterable of dicts")
        return self._samples(source)

    def _arrow(self, source: Any) -> dict[str, int]:
        if self.target == "mds":  # which takes two passes over the rows
            return self._by_way_of_jinx(lambda run: run._arrow(source))
        return _core.convert_arrow(
            source, self.out, target_format=self.target, options=self._json(), progress=self.progress
        )

    def _dataset(self, source: "Dataset") -> dict[str, int]:
        kept_schema = source._arrow_schema()  # pyright: ignore[reportPrivateUsage]
        if self.target != "mds" and not source._transforms and (kept_schema is not None or self.target == "parquet"):  # pyright: ignore[reportPrivateUsage]
            return self._arrow(source)
        return self._samples(source)

    def _hugging_face(self, source: Any) -> dict[str, int]:
        from jinx.formats import huggingface

        if isinstance(source, Mapping):
            splits: dict[str, Any] = {**source}
            if os.path.splitext(self.out)[1]:  # noqa: PTH122
                raise ValueError(f"{self.out}: a DatasetDict becomes a folder of splits; give a name without a suffix")
            os.makedirs(self.out, exist_ok=True)  # noqa: PTH103
            done: dict[str, int] = {}
            for name, part in splits.items():
                file = name if self.target == "jinx" else f"{name}.{self.target}"
                run = _Run(os.path.join(self.out, file), self.target, {**self.options, "split": name}, self.progress)  # noqa: PTH118
                for key, value in run._hugging_face(part).items():
                    done[key] = done.get(key, 0) + value
            return done
        if source.features is None:
            return self._samples(huggingface.plain_rows(source))
        return self._arrow(huggingface.arrow_reader(source))

    def _samples(self, samples: Iterable[Any]) -> dict[str, int]:
        """Dicts from Python; what is not JINX is converted from a JINX file beside the output."""
        if self.target == "jinx":
            return self._write(samples, self.out)
        return self._by_way_of_jinx(lambda run: run._write(samples, run.out))

    def _by_way_of_jinx(self, write: "Callable[[_Run], Any]") -> dict[str, int]:
        """What `write` puts into a JINX file, converted to the output."""
        import tempfile

        folder = os.path.dirname(os.path.abspath(self.out))  # noqa: PTH100, PTH120
        with tempfile.TemporaryDirectory(dir=folder, prefix=".jinx-") as work:
            middle = os.path.join(work, "rows.jinx")  # noqa: PTH118
            changed = {"overwrite": True, "append": False, "shard_size": None, "compression": None, "level": None}
            plain = _Run(middle, "jinx", {**self.options, **changed}, None)
            write(plain)
            done = {"limit": None, "fields": None, "rename": None}
            final = _Run(self.out, self.target, {**self.options, **done}, self.progress)
            return final.files(Inputs([middle], "jinx"))

    def _write(self, samples: Iterable[Any], out: str) -> dict[str, int]:
        from itertools import islice

        from jinx.writer import Writer

        options = self.options
        chosen = islice(samples, options["limit"])
        with Writer(
            out,
            sidecar=options["sidecar"],
            compression=f"{options['compression'] or 'zstd'}{':' if options['level'] else ''}{options['level'] or ''}",
            columns=options["columns"],
            shard_size=options["shard_size"],
            overwrite=options["overwrite"],
            append=options["append"],
            split=options["split"],
            meta=options["meta"],
            threads=options["threads"],
        ) as writer:
            for sample in chosen:
                writer.write(self._projected(sample))
                if self.progress is not None:
                    self.progress(writer.rows, writer.bytes, None)
            return writer.close()

    def _projected(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        fields: list[str] | None = self.options["fields"]
        rename: dict[str, str] = self.options["rename"] or {}
        if fields is None and not rename:
            return sample
        names = sample if fields is None else [name for name in fields if name in sample]
        return {rename.get(name, name): sample[name] for name in names}

    def _json(self) -> str:
        import json

        return json.dumps({name: value for name, value in self.options.items() if value is not None})


def _is_paths(source: Any) -> bool:
    """Whether the source is named by paths."""
    if isinstance(source, str | os.PathLike):
        return True
    if not isinstance(source, list | tuple):
        return False
    items: list[Any] = list(source)  # pyright: ignore[reportUnknownArgumentType]
    return bool(items) and all(isinstance(item, str | os.PathLike) for item in items)
