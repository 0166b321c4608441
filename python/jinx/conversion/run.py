"""One conversion: where to, and how; each kind of source has its way."""

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinx import _core
from jinx.conversion.embedding import embed_options
from jinx.conversion.remote import fetched
from jinx.conversion.splits import splits_of
from jinx.formats.sources import Inputs, find_inputs
from jinx.nearest import hint, unknown_field
from jinx.writer import refuse_existing, shard_bytes

if TYPE_CHECKING:
    from jinx.dataset import Dataset

Progress = Callable[[int, int, int | None], None]
Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Embedding:
    """Fields whose files are read in; see `convert`."""

    fields: Sequence[str]
    root: str | None
    missing: str


class Run:
    """One conversion: where to and how."""

    def __init__(self, out: str, target: str, options: dict[str, Any], progress: Progress | None) -> None:
        self.out = out
        self.target = target
        self.options = options
        self.progress = progress

    def paths(
        self, source: Path | Sequence[Path], from_: str | None, embedding: Embedding | None = None
    ) -> dict[str, int]:
        """From files, folders, patterns and addresses."""
        given = [os.fspath(one) for one in ([source] if isinstance(source, str | os.PathLike) else source)]
        beside = os.path.dirname(os.path.abspath(self.out)) if self.out != "-" else tempfile.gettempdir()  # noqa: PTH100, PTH120
        with fetched(given, beside) as local:
            inputs = find_inputs(local, from_)
            splits = splits_of(local[0], inputs.files) if len(local) == 1 and os.path.isdir(local[0]) else {}  # noqa: PTH112
            if inputs.format == "jinx" or not splits:
                return self.files(inputs, embedding)
            return self._splits(splits, inputs, embedding)

    def _splits(self, splits: dict[str, list[str]], inputs: Inputs, embedding: Embedding | None) -> dict[str, int]:
        wanted: str | None = self.options["split"]
        if wanted is None and len(splits) == 1:
            wanted = next(iter(splits))
        if wanted is not None:
            if wanted not in splits:
                near = hint(wanted, splits) or f"; there are {', '.join(splits)}"
                raise ValueError(f"there is no split {wanted!r}{near}")
            one = Run(self.out, self.target, {**self.options, "split": wanted}, self.progress)
            return one.files(Inputs(splits[wanted], inputs.format), embedding)
        self._check_folder_of_splits(f"the input has the splits {', '.join(splits)}", ", or choose one (--split)")

        def convert(name: str, run: Run) -> dict[str, int]:
            return run.files(Inputs(splits[name], inputs.format), embedding)

        return self._each_split(splits, convert)

    def _check_folder_of_splits(self, what: str, more: str = "") -> None:
        if os.path.splitext(self.out)[1]:  # noqa: PTH122
            raise ValueError(f"{self.out}: {what}, which become a folder; give a name without a suffix{more}")

    def _each_split(self, names: Iterable[str], convert: "Callable[[str, Run], dict[str, int]]") -> dict[str, int]:
        os.makedirs(self.out, exist_ok=True)  # noqa: PTH103
        try:
            return self._splits_inside(names, convert)
        finally:
            with suppress(OSError):  # it holds something: a dataset, or what --resume goes on with
                os.rmdir(self.out)  # noqa: PTH106

    def _splits_inside(self, names: Iterable[str], convert: "Callable[[str, Run], dict[str, int]]") -> dict[str, int]:
        done: dict[str, int] = {}
        for name in names:
            file = os.path.join(self.out, name if self.target == "jinx" else f"{name}.{self.target}")  # noqa: PTH118
            if self.options["resume"] and os.path.lexists(file):
                continue
            if not self.options["overwrite"] and not self.options["append"]:
                refuse_existing(file)
            options = {**self.options, "split": name}
            if self.target == "jinx":
                options["shard_size"] = shard_bytes(file, options["shard_size"])
            for key, value in convert(name, Run(file, self.target, options, self.progress)).items():
                done[key] = done.get(key, 0) + value
        return done

    def files(self, inputs: Inputs, embedding: Embedding | None = None) -> dict[str, int]:
        """From files of one format."""
        if self._is_parquet_folder():
            return self._by_samples(inputs, embedding)
        options = dict(self.options)
        if embedding is not None:
            options["embed"] = embed_options(embedding.fields, embedding.root, embedding.missing, inputs)
        is_folder = self.target == "jinx" and not self.out.endswith(".jinx") and not options["append"]
        if is_folder and all(os.path.isfile(file) for file in inputs.files):  # noqa: PTH113
            options["resume_key"] = _resume_key(inputs, options)
        elif options["resume"]:
            raise ValueError(f"{self.out}: only a conversion of files into a folder of shards can be resumed")
        return _core.convert(
            inputs.files,
            self.out,
            source_format=inputs.format,
            target_format=self.target,
            options=_json(options),
            progress=self.progress,
        )

    def _is_parquet_folder(self) -> bool:
        return self.target == "parquet" and self.out != "-" and not os.path.splitext(self.out)[1]  # noqa: PTH122

    def _by_samples(self, inputs: Inputs, embedding: Embedding | None) -> dict[str, int]:
        """What Python writes: from JINX directly, from anything else by way of a JINX file beside the output."""
        from jinx.opening import open

        if inputs.format == "jinx" and embedding is None:
            return self._dataset(open(inputs.files))
        return self._by_way_of_jinx(lambda run: run.files(inputs, embedding), first=self.progress)

    def _written_by_python(self, source: "Dataset") -> dict[str, int]:
        from jinx.conversion.parquet_folder import write_parquet_folder

        known = source.column_names
        for option in ("fields", "drop", "rename"):
            for name in self.options[option] or ():
                if known and name not in known:
                    raise KeyError(unknown_field(name, known))
        if self.options["rename"]:
            raise ValueError(f"{self.out}: fields are renamed in a single file only")
        if self.options["fields"] or self.options["drop"]:
            names = self.options["fields"] or source.column_names
            source = source.select_columns([name for name in names if name not in (self.options["drop"] or [])])
        if self.options["limit"] is not None:
            source = source[: self.options["limit"]]
        return write_parquet_folder(source, self.out, self.options, self.progress)

    def objects(self, source: Any) -> dict[str, int]:
        """From what other libraries and Python hold."""
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
            source, self.out, target_format=self.target, options=_json(self.options), progress=self.progress
        )

    def _dataset(self, source: "Dataset") -> dict[str, int]:
        if self._is_parquet_folder():
            return self._written_by_python(source)
        kept_schema = source._arrow_schema()  # pyright: ignore[reportPrivateUsage]
        if self.target != "mds" and not source._transforms and (kept_schema is not None or self.target == "parquet"):  # pyright: ignore[reportPrivateUsage]
            return self._arrow(source)
        return self._samples(source)

    def _hugging_face(self, source: Any) -> dict[str, int]:
        from jinx.formats import huggingface

        if isinstance(source, Mapping):
            splits: dict[str, Any] = {**source}
            self._check_folder_of_splits(f"a DatasetDict has the splits {', '.join(splits)}")

            def convert(name: str, run: Run) -> dict[str, int]:
                return run._hugging_face(splits[name])

            return self._each_split(splits, convert)
        if source.features is None:
            return self._samples(huggingface.plain_rows(source))
        return self._arrow(huggingface.arrow_reader(source))

    def _samples(self, samples: Iterable[Any]) -> dict[str, int]:
        """Dicts from Python; what is not JINX is converted from a JINX file beside the output."""
        if self.target == "jinx":
            return self._write(samples, self.out)
        return self._by_way_of_jinx(lambda run: run._write(samples, run.out))

    def _by_way_of_jinx(self, write: "Callable[[Run], Any]", first: Progress | None = None) -> dict[str, int]:
        """What `write` puts into a JINX file, converted to the output; `first` shows the first step, not the second."""
        folder = os.path.dirname(os.path.abspath(self.out))  # noqa: PTH100, PTH120
        with tempfile.TemporaryDirectory(dir=folder, prefix=".jinx-") as work:
            middle = os.path.join(work, "rows.jinx")  # noqa: PTH118
            changed = {"overwrite": True, "append": False, "shard_size": None, "compression": None, "level": None}
            write(Run(middle, "jinx", {**self.options, **changed}, first))
            done = {"limit": None, "fields": None, "drop": None, "rename": None}
            final = Run(self.out, self.target, {**self.options, **done}, None if first else self.progress)
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
        dropped: list[str] = self.options["drop"] or []
        if fields is None and not rename and not dropped:
            return sample
        names = sample if fields is None else [name for name in fields if name in sample]
        return {rename.get(name, name): sample[name] for name in names if name not in dropped}


def _json(options: Mapping[str, Any]) -> str:
    import json

    return json.dumps({name: value for name, value in options.items() if value is not None})


def _resume_key(inputs: Inputs, options: Mapping[str, Any]) -> str:
    """Stands for what the result depends on: the inputs as they are now, and the options."""
    import hashlib

    free = {"threads", "overwrite", "resume", "rejects"}
    status = [os.stat(file) for file in inputs.files]  # noqa: PTH116
    files = [
        [os.path.abspath(file), one.st_size, one.st_mtime_ns]  # noqa: PTH100
        for file, one in zip(inputs.files, status, strict=True)
    ]
    asked = {name: value for name, value in options.items() if name not in free}
    return hashlib.sha256(_json({"files": files, "format": inputs.format, **asked}).encode()).hexdigest()
