"""`jinx.convert` and `jinx.stream`; the work is done in `rust/jinx-convert`. Each kind of source has a method."""

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack

from jinx import _core
from jinx._convert.inputs import Inputs, find_inputs, in_place, is_paths, paths_of
from jinx._convert.mds_copy import copy_mds, may_copy
from jinx._convert.options import ConvertOptions, Path, Progress, Settings, documented
from jinx._convert.part_inputs import require_same_inputs
from jinx._convert.remote import fetched
from jinx._convert.splits import file_name, splits_of
from jinx._dataset.columns import schema_if_empty
from jinx._dataset.reopen_with import reopen_with
from jinx._dataset.stored_bytes import stored_bytes
from jinx._dataset.summary import extra_indexed
from jinx._disk_space import require_space, unpacked_bytes
from jinx._files.merge import part_directory
from jinx._outputs import (
    other_file_name,
    output_name,
    refuse_existing,
    refuse_input,
    refuse_other_output,
    refuse_within,
)
from jinx._results import WriteResult
from jinx._saved_views.bases import is_view
from jinx._scratch import scratch_directory
from jinx._sizes import shard_bytes
from jinx._suggest import hint, unknown_column
from jinx._urls import is_readable
from jinx._writer_copy import copy_all

if TYPE_CHECKING:
    from jinx._convert.kept_lengths import KeptLengths
    from jinx._dataset.dataset import Dataset
    from jinx._writer import Writer

# With any of these options, an output may be much smaller than its input.
_NARROWING = ("columns", "drop", "limit", "where", "split", "resume")
# Options that select or name columns.
_OF_COLUMNS = ("columns", "drop", "rename", "indexed")
# The number of samples copied per call: progress is reported between calls.
_COPIED_AT_ONCE = 65536


@documented(ConvertOptions)
def convert(
    source: Any, out: Path, *, progress: Progress | None = None, **options: Unpack[ConvertOptions]
) -> WriteResult:
    """Convert between Parquet, JSON lines or arrays, MessagePack, WebDataset tars, MDS and JINX; reads Arrow too.

    Samples stream through: memory does not grow with the data. The same input gives the same bytes. An existing output
    is replaced only when everything is written; if the conversion fails, it does not change.

    Args:
        source: A file, a directory, a pattern such as `"part-*.parquet"`, a URL such as `"s3://bucket/*.parquet"`
            (downloaded next to the output during the conversion; `.jinx` files are read in place), or a list of these;
            or a Hugging Face `datasets.Dataset` (nothing is decoded) or `DatasetDict`, a `jinx.Dataset`, anything with
            `__arrow_c_stream__`, or an iterable of dicts. A directory whose files are named after splits, and a
            `DatasetDict`, become one dataset for each split.
        out: The output. Its suffix names the format; a name without a suffix is a directory of JINX shards. JINX may
            go to a URL such as `"s3://bucket/out.jinx"`; it is written on this machine first. With `overwrite`, a path
            may be converted to itself, but a view or an open dataset never replaces the files that it shows.
        progress: Called about ten times a second with samples, bytes read, and total bytes (None if unknown).
        **options: Any of the options below.

    Raises:
        FileNotFoundError: An input does not exist; the message names the nearest one.
        FileExistsError: The output exists, and `overwrite` is not set.
        JinxError: A sample cannot be read, or has no exact counterpart in the output; the message says which and why.
    """
    if is_readable(output_name(out)):
        return _convert_to_url(source, output_name(out), progress, options)
    settings = Settings(output_name(out), options)
    source = in_place(source)
    refuse_within(settings.out, source)
    if settings.core["rejects"] is not None:
        refuse_other_output(settings.core["rejects"], settings.out)
        other_file_name(settings.core["rejects"], "rejected samples are listed as JSON lines")
    if settings.part is not None:
        return _convert_part(source, settings, settings.part, progress)
    if not settings.core["overwrite"] and not settings.core["append"]:
        refuse_existing(settings.out)
    conversion = Conversion(settings, progress)
    if is_paths(source):
        return conversion.paths(paths_of(source))
    if settings.embed is not None or settings.core["resume"]:
        raise ValueError("embed and resume work with files as inputs only")
    return conversion.objects(source)


def _convert_to_url(source: Any, url: str, progress: Progress | None, options: ConvertOptions) -> WriteResult:
    from jinx._remote_output import ONLY_JINX, local_output

    settings = Settings(url, options)
    if settings.target != "jinx":
        raise ValueError(f"{url}: {ONLY_JINX}")
    if settings.core["append"] or settings.core["resume"] or settings.part is not None:
        raise ValueError(f"{url}: append, resume and part work with outputs on this machine only")
    with local_output(url, overwrite=settings.core["overwrite"]) as path:
        result = convert(source, path, progress=progress, **options)
    return replace(result, path=url)


def _convert_part(source: Any, settings: Settings, part: tuple[int, int], progress: Progress | None) -> WriteResult:
    """One part of a directory, from its share of the input files."""
    number, parts = part
    if not is_paths(source):
        raise ValueError("part works with files as inputs; to write samples, use Writer(out, part=(i, n))")
    if settings.core["limit"] is not None and parts > 1:
        raise ValueError(
            "limit counts the samples of all inputs, and a part reads only its share; leave one of them out"
        )
    inputs = find_inputs(paths_of(source), settings.input_format)
    if len(inputs.files) < parts:
        raise ValueError(
            f"{len(inputs.files)} input files cannot be divided into {parts} parts; use at most {len(inputs.files)}"
        )
    first, last = (len(inputs.files) * edge // parts for edge in (number, number + 1))
    target = part_directory(settings.out, number, parts)
    require_same_inputs(settings.out, inputs, settings)
    rejects = settings.rejects_of(f"{number:05}-of-{parts:05}")
    conversion = Conversion(settings.changed(target, "jinx", overwrite=True, resume=False, **rejects), progress)
    return conversion.files(Inputs(inputs.files[first:last], inputs.format))


class Conversion:
    """One conversion, with its settings; each method is for another kind of source."""

    def __init__(self, settings: Settings, progress: Progress | None) -> None:
        self.settings = settings
        self.progress = progress

    def paths(self, paths: Sequence[str]) -> WriteResult:
        """Convert files, directories, patterns and URLs."""
        out = self.settings.out
        work_dir = os.path.dirname(os.path.abspath(out)) if out != "-" else tempfile.gettempdir()  # noqa: PTH100, PTH120
        with fetched(paths, work_dir) as local:
            inputs = find_inputs(local, self.settings.input_format)
            splits = splits_of(local[0], inputs.files) if len(local) == 1 and os.path.isdir(local[0]) else {}  # noqa: PTH112
            if inputs.format == "jinx" or not splits:
                return self.files(inputs)
            return self._splits(splits, inputs)

    def _splits(self, splits: dict[str, list[str]], inputs: Inputs) -> WriteResult:
        settings = self.settings
        wanted: str | None = settings.core["split"]
        if wanted is None and len(splits) == 1:
            wanted = next(iter(splits))
        if wanted is not None:
            if wanted not in splits:
                near = hint(wanted, splits) or f"; there are {', '.join(splits)}"
                raise ValueError(f"there is no split {wanted!r}{near}")
            conversion = Conversion(settings.changed(settings.out, settings.target, split=wanted), self.progress)
            return conversion.files(Inputs(splits[wanted], inputs.format))
        self._require_directory(f"the input has the splits {', '.join(splits)}", ", or choose one (--split)")
        return self._each_split(splits, lambda name, conversion: conversion.files(Inputs(splits[name], inputs.format)))

    def _require_directory(self, reason: str, hint: str = "") -> None:
        out = self.settings.out
        if os.path.splitext(out)[1]:  # noqa: PTH122
            raise ValueError(f"{out}: {reason}, which become a directory; give a name without a suffix{hint}")

    def _each_split(
        self, names: Iterable[str], convert_split: "Callable[[str, Conversion], WriteResult]"
    ) -> WriteResult:
        settings, out = self.settings, self.settings.out
        done = WriteResult(out, 0, 0)
        os.makedirs(out, exist_ok=True)  # noqa: PTH103
        try:
            for name in names:
                stem = file_name(name)
                file = os.path.join(out, stem if settings.target == "jinx" else f"{stem}.{settings.target}")  # noqa: PTH118
                if settings.core["resume"] and os.path.lexists(file):
                    continue
                if not settings.core["overwrite"] and not settings.core["append"]:
                    refuse_existing(file)
                size = settings.core["shard_size"]
                if settings.target == "jinx":
                    size = shard_bytes(file, size)
                rejects = settings.rejects_of(stem)
                changed = settings.changed(file, settings.target, split=name, shard_size=size, **rejects)
                done = done.plus(convert_split(name, Conversion(changed, self.progress)))
        finally:
            with suppress(OSError):  # the directory is not empty: it holds a dataset, or files for --resume
                os.rmdir(out)  # noqa: PTH106
        return done

    def files(self, inputs: Inputs) -> WriteResult:
        """Convert files of one format."""
        settings = self.settings
        if settings.core["rejects"] is not None:
            refuse_input(settings.core["rejects"], inputs.files)
        if settings.core["append"]:
            refuse_input(settings.out, inputs.files)
        if inputs.format == "jinx" and any(is_view(file) for file in inputs.files):
            return self._views(inputs.files)
        if self._is_parquet_directory():
            return self._by_samples(inputs)
        if inputs.format == "mds" and may_copy(settings):
            copied = self._copy_mds(inputs.files)
            if copied is not None:
                return copied
        extra_options = self._options_for(inputs)
        if settings.target == "jinx" and not any(settings.core[name] for name in _NARROWING):
            require_space(settings.out, unpacked_bytes(inputs.files))
        done = _core.convert(
            inputs.files,
            settings.out,
            input_format=inputs.format,
            output_format=settings.target,
            options=settings.for_core(**extra_options),
            progress=self.progress,
        )
        written = WriteResult.of(settings.out, done)
        return written if written.samples or settings.embed is None else self._without_files(inputs, written)

    def _options_for(self, inputs: Inputs) -> dict[str, Any]:
        """The options of the core that depend on the inputs."""
        settings = self.settings
        extra_options: dict[str, Any] = {}
        if settings.embed is not None:
            from jinx._convert.embedded_files import embed_options

            extra_options["embed"] = embed_options(settings.embed, settings.root, settings.missing, inputs)
        is_directory = settings.target == "jinx" and not settings.out.endswith(".jinx") and not settings.core["append"]
        if is_directory and all(os.path.isfile(file) for file in inputs.files):  # noqa: PTH113
            extra_options["resume_key"] = _resume_key(inputs, settings, extra_options)
        elif settings.core["resume"]:
            raise ValueError(f"{settings.out}: only a conversion of files into a directory of shards can be resumed")
        if settings.target == inputs.format == "jinx" and not any(settings.core[name] for name in _OF_COLUMNS):
            from jinx._open import open

            extra_options["indexed"] = extra_indexed(open(inputs.files)) or None
        return extra_options

    def _views(self, files: list[str]) -> WriteResult:
        """Convert files of which at least one is a saved view."""
        from jinx._dataset.dataset import Dataset
        from jinx._open import open

        parts = [open(file) for file in files]
        roots = (root for part in parts if part._definition is not None for root in part._root_files())
        refuse_input(self.settings.out, [path for root in roots for path in root.paths])
        return self.dataset(parts[0] if len(parts) == 1 else Dataset.concat(parts))

    def _without_files(self, inputs: Inputs, written: WriteResult) -> WriteResult:
        """Convert without any samples and embedded files, so that the output at least has the columns of the input."""
        settings = self.settings
        if (
            settings.target not in {"jinx", "parquet"}
            or settings.core["append"]
            or "-" in [*inputs.files, settings.out]
        ):
            return written
        plain = settings.changed(settings.out, settings.target, limit=0, overwrite=True, resume=False)
        plain.embed = None
        return replace(Conversion(plain, None).files(inputs), skipped=written.skipped)

    def _copy_mds(self, directories: Sequence[str]) -> WriteResult | None:
        from jinx._dataset.dataset import Dataset
        from jinx.mds._directories import open_directories

        # Check all checksums: damaged values must not get new ones.
        source = open_directories(Dataset, directories, hashes=True)
        where: str | None = self.settings.core["where"]
        return copy_mds(source if where is None else source.filter(where), self.settings, self.progress)

    def objects(self, source: Any) -> WriteResult:
        """Convert Python objects and objects of other libraries."""
        from jinx._dataset.dataset import Dataset

        if isinstance(source, Dataset):
            files = [path for root in source._root_files() for path in root.paths]
            for output in (self.settings.out, self.settings.core["rejects"]):
                if output is not None:
                    refuse_input(output, files)
            # Check all checksums, so that damaged values never get new ones.
            return self.dataset(reopen_with(source, verify="full"))
        if type(source).__module__.split(".")[0] == "datasets":
            return self._hugging_face(source)
        if hasattr(source, "__arrow_c_stream__"):
            return self._arrow(source)
        if not hasattr(source, "__iter__") or isinstance(source, bytes | Mapping):
            kind = type(source).__name__  # pyright: ignore[reportUnknownArgumentType]
            raise TypeError(f"{kind} cannot be converted: give paths, a table, or an iterable of dicts")
        return self._samples(source)

    def _is_parquet_directory(self) -> bool:
        out = self.settings.out
        return self.settings.target == "parquet" and out != "-" and not os.path.splitext(out)[1]  # noqa: PTH122

    def _by_samples(self, inputs: Inputs) -> WriteResult:
        """Write an output in Python: from JINX directly, from other formats through a JINX file next to the output."""
        from jinx._open import open

        if inputs.format == "jinx" and self.settings.embed is None:
            return self.dataset(open(inputs.files))
        return self._by_way_of_jinx(lambda first: first.files(inputs), first_progress=self.progress)

    def _parquet_directory(self, source: "Dataset") -> WriteResult:
        from jinx._convert.parquet_directory import write_parquet_directory

        core, columns = self.settings.core, source.column_names
        for option in ("columns", "drop", "rename"):
            for name in core[option] or ():
                if columns and name not in columns:
                    raise KeyError(unknown_column(name, columns))
        if core["rename"]:
            raise ValueError(f"{self.settings.out}: columns can be renamed in a single file only")
        if core["columns"] or core["drop"]:
            names = core["columns"] or columns
            source = source.select_columns([name for name in names if name not in (core["drop"] or [])])
        if core["limit"] is not None:
            source = source[: core["limit"]]
        return write_parquet_directory(source, self.settings.out, core, self.progress)

    def _arrow(self, source: Any) -> WriteResult:
        settings = self.settings
        if settings.target == "mds":  # this needs two passes over the samples
            return self._by_way_of_jinx(lambda first: first._arrow(source))
        done = _core.convert_arrow(
            source,
            settings.out,
            output_format=settings.target,
            options=settings.for_core(),
            progress=self.progress,
        )
        return WriteResult.of(settings.out, done)

    def dataset(self, source: "Dataset") -> WriteResult:
        """Convert a dataset or view that compares all checksums when it is read."""
        where: str | None = self.settings.core["where"]
        if where is not None:
            settings = self.settings.changed(self.settings.out, self.settings.target, where=None)
            return Conversion(settings, self.progress).dataset(source.filter(where))
        if self._is_parquet_directory():
            return self._parquet_directory(source)
        copied = copy_mds(source, self.settings, self.progress)
        if copied is not None:
            return copied
        target, has_schema = self.settings.target, source._arrow_schema() is not None
        if target == "jinx" and not source._transforms and not source._decoders and not self.settings.core["rename"]:
            return self._copy(source)
        if target != "mds" and not source._transforms and (has_schema or target == "parquet"):
            return self._arrow(source)
        return self._changed_samples(source)

    def _hugging_face(self, source: Any) -> WriteResult:
        from jinx._convert import from_huggingface as huggingface

        if isinstance(source, Mapping):
            splits: dict[str, Any] = {**source}
            self._require_directory(f"a DatasetDict has the splits {', '.join(splits)}")
            return self._each_split(splits, lambda name, conversion: conversion._hugging_face(splits[name]))
        if source.features is None:
            return self._samples(huggingface.plain_rows(source))
        return self._arrow(huggingface.arrow_reader(source))

    def _samples(self, samples: Iterable[Any]) -> WriteResult:
        """Convert dicts; formats other than JINX are converted from a JINX file next to the output."""
        if self.settings.core["where"] is not None:
            raise ValueError("where is for files, tables and datasets; of dicts, give only those that are wanted")
        if self.settings.core["rejects"] is not None:
            raise ValueError(
                "on_error='skip' is for files, tables and datasets; of dicts, give only those that can be stored, or "
                "write them with jinx.Writer and catch the errors of write"
            )
        if self.settings.target == "jinx":
            return self._write(samples)
        return self._by_way_of_jinx(lambda first: first._write(samples))

    def _changed_samples(self, source: "Dataset") -> WriteResult:
        """Convert samples that functions, decoders or renamed columns may have changed."""
        from jinx._convert.kept_lengths import KeptLengths

        lengths, settings = KeptLengths(source), self.settings
        # The settings of lengths are known only after all samples are written, and earlier shards are closed by then.
        is_file = settings.out.endswith(".jinx") and not settings.core["append"]
        if settings.target == "jinx" and (is_file or not lengths.is_needed):
            return self._write(source, lengths)
        return self._by_way_of_jinx(lambda first: first._write(source, lengths))

    def _by_way_of_jinx(
        self, write: "Callable[[Conversion], Any]", *, first_progress: Progress | None = None
    ) -> WriteResult:
        """Let `write` make a JINX file, and convert it to the output; only one of the two steps reports progress."""
        settings = self.settings
        # Make the path absolute now: the caller's code may change the working directory.
        out = "-" if settings.out == "-" else os.path.abspath(settings.out)  # noqa: PTH100
        directory, name = os.path.split(os.path.abspath(out))  # noqa: PTH100
        with scratch_directory(directory, "" if out == "-" else f"{name}.rows") as work:
            middle = os.path.join(work, "rows.jinx")  # noqa: PTH118
            plain = {"overwrite": True, "append": False, "shard_size": None, "compression": None, "level": None}
            write(Conversion(settings.changed(middle, "jinx", **plain), first_progress))
            done = {"where": None, "limit": None, "columns": None, "drop": None, "rename": None}
            final = settings.changed(out, settings.target, **done)
            final.embed = None
            written = Conversion(final, None if first_progress else self.progress).files(Inputs([middle], "jinx"))
            return replace(written, path=settings.out)

    def _write(self, samples: Iterable[Any], lengths: "KeptLengths | None" = None) -> WriteResult:
        kept = lengths if lengths is not None and lengths.is_needed else None
        with self._writer() as writer:
            for sample in islice(samples, self.settings.core["limit"]):
                projected = self._projected(sample)
                if kept is not None:
                    kept.compare(projected)
                writer.write(projected)
                if self.progress is not None:
                    self.progress(writer.samples, writer.bytes, None)
            if kept is not None:
                kept.tell(writer)
            return writer.close()

    def _copy(self, source: "Dataset") -> WriteResult:
        """Copy the stored samples of a dataset to a JINX dataset."""
        core = self.settings.core
        if core["columns"] is not None:
            source = source.select_columns(core["columns"])
        whole = range(len(source))[: core["limit"]]
        schema = None
        if not whole:
            kept = [name for name in source.column_names if name not in (core["drop"] or ())]
            schema = schema_if_empty(source[:0].select_columns(kept))
        with self._writer(schema, extra_indexed(source)) as writer:
            if len(whole) == len(source) and not core["drop"] and not core["append"]:
                copy_all(writer._core, source, stored_bytes(source), self.progress)
                return writer.close()
            for start in range(0, max(len(whole), 1), _COPIED_AT_ONCE):
                writer.copy(source, whole[start : start + _COPIED_AT_ONCE], drop=core["drop"] or ())
                if self.progress is not None:
                    self.progress(writer.samples, writer.bytes, None)
            return writer.close()

    def _writer(self, arrow_schema: str | None = None, indexed: Sequence[str] = ()) -> "Writer":
        """A writer for the output; `indexed` are the columns that the input indexes."""
        from jinx._writer import Writer

        core = self.settings.core
        codec, level = core["compression"] or "zstd", core["level"]
        return Writer(
            self.settings.out,
            sidecar=core["sidecar"],
            compression=codec if level is None else f"{codec}:{level}",
            indexed=core["indexed"] or list(indexed) or None,
            shard_size=core["shard_size"],
            overwrite=core["overwrite"],
            append=core["append"],
            split=core["split"],
            meta=core["meta"],
            threads=core["threads"],
            arrow_schema=arrow_schema,
        )

    def _projected(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        core = self.settings.core
        columns: list[str] | None = core["columns"]
        rename: dict[str, str] = core["rename"] or {}
        dropped: list[str] = core["drop"] or []
        if columns is None and not rename and not dropped:
            return sample
        names = sample if columns is None else [name for name in columns if name in sample]
        return {rename.get(name, name): sample[name] for name in names if name not in dropped}


def _resume_key(inputs: Inputs, settings: Settings, extra_options: Mapping[str, Any]) -> str:
    """A digest of everything on which the result depends: the current inputs and the options."""
    import hashlib
    import json

    free = {"threads", "overwrite", "resume", "rejects"}
    status = [os.stat(file) for file in inputs.files]  # noqa: PTH116
    # The system sets the status change time (ctime), even if a file is given the size and modification time of another.
    files = [
        [os.path.abspath(file), found.st_size, found.st_mtime_ns, found.st_ctime_ns]  # noqa: PTH100
        for file, found in zip(inputs.files, status, strict=True)
    ]
    asked = {
        name: value
        for name, value in {**settings.core, **extra_options}.items()
        if name not in free and value is not None
    }
    return hashlib.sha256(json.dumps({"files": files, "format": inputs.format, **asked}).encode()).hexdigest()
