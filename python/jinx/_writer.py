"""`jinx.Writer`; samples are encoded in `rust/jinx-py/src/writer.rs` and written by `rust/jinx-format/src/write`."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from jinx import _core
from jinx._arguments import encodable, size_number
from jinx._files.merge import parse_part, part_directory
from jinx._outputs import refuse_existing, writable_name
from jinx._results import WriteResult
from jinx._sizes import shard_bytes
from jinx._urls import is_readable

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

DEFAULT_LEVEL = 3
# More threads only cost memory, because each compressor has its own tables.
MAX_THREADS = 256


def parse_compression(compression: str | None) -> tuple[str | None, int]:
    """(codec, level) of `None`, `"none"`, `"zstd"` or `"zstd:9"`.

    Raises:
        ValueError: Another codec, or a level outside 1..22.
    """
    if compression is None or compression == "none":
        return None, DEFAULT_LEVEL
    codec, _, level = compression.partition(":")
    if codec not in {"zstd", "zst"} or not (level or "3").isdigit() or not 1 <= int(level or "3") <= 22:  # noqa: PLR2004
        raise ValueError(f"compression {compression!r} is not written; use 'zstd', 'zstd:1' to 'zstd:22', or None")
    return "zstd", int(level or DEFAULT_LEVEL)


def checked_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """`meta` as a dict that survives conversion to JSON and back unchanged.

    Raises:
        TypeError: `meta` is not a mapping, a name is not a string, or JSON cannot hold a value.
        ValueError: A float is not finite, a str has lone surrogates, or a container holds itself.
    """
    import json

    if not isinstance(meta, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - an empty list is not {}
        raise TypeError(f"meta must be a dict, not {type(meta).__name__}")
    checked = dict(meta)
    try:
        json.dumps(checked, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("meta: a str with lone surrogates; it has no UTF-8 form") from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"meta: {error}") from error
    _refuse_other_names(checked)
    return checked


def _refuse_other_names(value: Any) -> None:
    if isinstance(value, dict):
        members: dict[Any, Any] = {**value}
        for name, item in members.items():
            if not isinstance(name, str):
                raise TypeError(f"meta: the name {name!r} is of type {type(name).__name__}; names must be str")
            _refuse_other_names(item)
    elif isinstance(value, list | tuple):
        items: list[Any] = [*value]
        for item in items:
            _refuse_other_names(item)


class Writer:
    """Writes a dataset, which appears under its name when it is complete.

    Use it as a context manager. If the block raises, no file is left and an existing dataset does not change. A writer
    belongs to the process that opened it: in a forked process, `write`, `copy` and `close` raise an error.

        with jinx.Writer("out.jinx") as writer:
            writer.write({"id": "a", "image": data, "messages": [...]})

    Args:
        path: A name that ends in `.jinx` is one file (and its sidecar); any other name is a directory of shards. At a
            URL such as `"s3://bucket/out.jinx"`, it is written on this machine first, and copied at the end.
        sidecar: Large binary values go to a second file, `out.binx`; False keeps all values in the rows.
        compression: `"zstd"`, `"zstd:LEVEL"` (1 to 22) or None. Values that do not shrink are not compressed.
        indexed: More columns and paths to keep in the footer, for sorting and filtering without reading rows: columns
            of strings, and nested paths as `Dataset.column` takes them. The footer always keeps top-level numbers,
            bools and lengths.
        only_indexed: Index these columns and no others.
        uncompressed: Columns that are not compressed.
        shard_size: Close the shards of a directory at about this size, sidecar included: `"512MB"` or bytes; by default
            1 GB.
        overwrite: Replace an existing dataset, in one step at the end.
        append: Add shards to an existing directory.
        part: `(3, 8)` writes the fourth of eight parts of a directory, counted from 0. Each part is written by its own
            process, on any machine; writing a part again replaces it. `jinx.merge(path)` makes the parts one dataset.
        split: The split's name, kept in the footer.
        meta: A dict of JSON values, kept in the footer unchanged; tuples become lists.
        media: Columns and paths that hold media files, e.g. `{"image": "Image", "clips[].sound": "Audio"}` ([] for the
            elements of a list), kept in the footer for `decode=True` and for conversion to Hugging Face's types.
        binary_threshold: Binary values of at most this many bytes are kept in the row.
        compress_threshold: Values with fewer bytes are not compressed.
        compress_ratio: A compressed value is stored if it is at most this share of the original.
        string_threshold: Strings with more UTF-8 bytes go to the sidecar.
        threads: Threads that compress; 0 for one per core. The bytes written do not depend on it.
        max_row_bytes: The longest row, including its newline and 20 digits for the place of each value in the sidecar;
            by default 256 MiB, which is also the limit of readers.
        max_value_bytes: The longest value; by default 2 GiB, which is also the limit of readers. To read longer ones,
            use `jinx.open(..., max_value_bytes=...)`.

    Raises:
        FileExistsError: The dataset exists, and neither `overwrite` nor `append` is set.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        sidecar: bool = True,
        compression: str | None = "zstd",
        indexed: str | Sequence[str] | None = None,
        only_indexed: str | Sequence[str] | None = None,
        uncompressed: str | Sequence[str] = (),
        shard_size: int | str | None = None,
        overwrite: bool = False,
        append: bool = False,
        part: tuple[int, int] | None = None,
        split: str | None = None,
        meta: Mapping[str, Any] | None = None,
        media: Mapping[str, Literal["Image", "Audio", "Video"]] | None = None,
        binary_threshold: int = 64,
        compress_threshold: int = 128,
        compress_ratio: float = 0.9,
        string_threshold: int = 32768,
        threads: int = 0,
        max_row_bytes: int | None = None,
        max_value_bytes: int | None = None,
        arrow_schema: str | None = None,
    ) -> None:
        codec, level = parse_compression(compression)
        self._done: WriteResult | None = None
        self._aborted = False
        self._process = os.getpid()
        self._path = os.fsdecode(path)
        if not self._path:
            raise ValueError("a dataset cannot be written to an empty path")
        writable_name(self._path)
        self._remote = None
        place = self._path
        if is_readable(place):
            if append or part is not None:
                raise ValueError(f"{place}: append and part work with outputs on this machine only")
            from jinx._remote_output import RemoteOutput

            self._remote = RemoteOutput(place, overwrite=overwrite)
            place = self._remote.path
        if part is not None:
            if append:
                raise ValueError("a part cannot be appended to; write it again")
            self._path = part_directory(self._path, *parse_part(part))
            overwrite = True
            place = self._path
        if not overwrite and not append:
            refuse_existing(place)
        self._core = _core.Writer(
            place,
            sidecar=sidecar,
            compression=codec,
            level=level,
            binary_threshold=size_number("binary_threshold", binary_threshold),
            compress_threshold=size_number("compress_threshold", compress_threshold),
            compress_ratio=compress_ratio,
            string_threshold=size_number("string_threshold", string_threshold),
            uncompressed=_names(uncompressed),
            indexed=None if indexed is None else _names(indexed),
            only_indexed=None if only_indexed is None else _names(only_indexed),
            shard_size=shard_bytes(self._path, shard_size),
            overwrite=overwrite,
            append=append,
            split=None if split is None else encodable("the split", split),
            meta=None if meta is None else _json(checked_meta(meta)),
            arrow_schema=arrow_schema,
            media=None if media is None else _json([_media_entry(*entry) for entry in media.items()]),
            threads=min(size_number("threads", threads), MAX_THREADS),
            max_row_bytes=None if max_row_bytes is None else size_number("max_row_bytes", max_row_bytes),
            max_value_bytes=None if max_value_bytes is None else size_number("max_value_bytes", max_value_bytes),
        )

    @property
    def path(self) -> str:
        """The path of the dataset."""
        return self._path

    @property
    def samples(self) -> int:
        """Samples written so far."""
        return self._core.rows

    @property
    def bytes(self) -> int:
        """Bytes written so far, main file and sidecar together."""
        return self._core.bytes

    def write(self, sample: Mapping[str, Any]) -> None:
        """Write one sample: a mapping from names to JSON values, bytes, numpy arrays and scalars, torch tensors.

        A sample that cannot be stored raises an error and is left out; all others are written. Most errors are raised
        here, and some by a later call that encodes a batch of up to 512 samples. The error has the sample's number.
        After an error of the file system (a full disk, ...), the writer refuses every call, and nothing is published.

        Raises:
            TypeError: A value or a name has a type that cannot be stored; the message names the column.
            ValueError: A value cannot be stored exactly.
            jinx.LimitError: The sample is larger than readers accept.
        """
        self._core.write(sample)

    def write_many(self, samples: Iterable[Mapping[str, Any]]) -> None:
        """Write samples in order; faster than one at a time."""
        self._core.write_many(samples)

    def copy(
        self,
        dataset: "Dataset",
        positions: Any = None,
        *,
        replace: Mapping[str, Any] | None = None,
        drop: str | Iterable[str] = (),
    ) -> None:
        """Copy samples of a dataset as they are stored: nothing is decoded, compressed or parsed without need.

            with jinx.Writer("good.jinx") as writer:
                writer.copy(ds, numpy.flatnonzero(keep), replace={"score": new_scores})

        Strings, numbers and nested columns keep their JSON text; media and arrays keep their stored bytes and
        checksums. Indexed columns are built again for the copied samples. Schema, media columns, split and meta come
        from the dataset's files, unless the writer has its own. Decoders are not applied.

        Args:
            dataset: A dataset or view; its order and its `select_columns` apply.
            positions: The samples to copy, in this order, as for `Dataset.select`; by default all.
            replace: Columns to write instead of or next to the dataset's columns: a list, array or Arrow array with a
                value for each copied sample. They come last in a sample.
            drop: Columns to leave out.

        Raises:
            IndexError: A position is out of range.
            KeyError: A column to drop does not exist.
            TypeError: Functions were applied to the dataset (`map`, `with_transform`): write its samples instead.
            ValueError: A column of `replace` has another length than the copied samples.
        """
        from jinx._writer_copy import copy_samples

        copy_samples(self._core, dataset, positions, replace or {}, [drop] if isinstance(drop, str) else list(drop))

    def close(self) -> WriteResult:
        """Finish and publish the dataset; returns what was written.

        A second call does nothing and returns the same result. If a sample of the last batch cannot be stored, `close`
        raises an error; a second call then publishes the other samples.
        """
        if self._done is None:
            done = WriteResult.of(self._path, self._core.close())
            if self._remote is not None:
                self._remote.publish()
            self._done = done
        return self._done

    def abort(self) -> None:
        """Discard what was written; an existing dataset does not change. After `close` this does nothing.

        In a forked process this does nothing either: the files are those of the process that opened the writer.
        """
        self._aborted = self._done is None
        if self._process != os.getpid():
            return
        self._core.abort()
        if self._remote is not None:
            self._remote.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abort()
        elif not self._aborted:
            try:
                self.close()
            except BaseException:
                self.abort()
                raise

    def __repr__(self) -> str:
        return f"Writer({self._path!r}, {self.samples:,} samples)"


def _names(names: Sequence[str]) -> list[str]:
    """A list of names; a single name may be given as a string."""
    return [encodable("the column", name) for name in ([names] if isinstance(names, str) else names)]


def _media_entry(name: str, kind: str) -> dict[str, Any]:
    """The entry for a media column that the core expects, from a path such as `clips[].sound`."""
    path: list[str | None] = []
    for part in name.split("."):
        bare = part.rstrip("[]")
        path += [bare, *[None] * ((len(part) - len(bare)) // 2)]
    return {"path": path, "kind": kind, "feature": {"_type": kind}}


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
