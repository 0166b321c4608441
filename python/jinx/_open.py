"""`jinx.open`: opens a file, a directory, a pattern, or a list of these."""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import IOBase
from typing import TYPE_CHECKING, Any, Literal

from jinx import _core
from jinx._arguments import encodable, size_number
from jinx._convert.formats import format_of
from jinx._dataset.dataset import Dataset
from jinx._directories import has_manifest, refuse_mixed, refuse_views_among, refuse_views_of_several
from jinx._suggest import hint
from jinx._urls import is_readable, is_url, resolved, storage_options
from jinx.errors import CorruptFileError, MismatchError, UnsupportedError
from jinx.mds._directories import INDEX, find_directories, open_directories

if TYPE_CHECKING:
    from jinx._dataset.decode_media import DecodeSpec
    from jinx._saved_views.open import Bases

Source = str | os.PathLike[str]
PLAIN = (".jsonl", ".ndjson", ".jsonlines", ".json")
_GLOB = frozenset("*?[")
_ATTEMPTS = 20


def open(
    path: Source | Sequence[Source],
    *,
    lazy: bool = True,
    io: Literal["auto", "mmap", "pread"] = "auto",
    verify: Literal["full", "rows", "none"] = "full",
    decode: "DecodeSpec" = None,
    split: str | None = None,
    columns: str | Iterable[str] | None = None,
    encoding: str | None = None,
    max_value_bytes: int | None = None,
    markers: bool = False,
    cache: Source | bool | None = None,
    cache_size: int | str | None = None,
    allow_unsafe_types: bool | Sequence[str] = False,
    base: "Bases" = ...,
    storage: Mapping[str, str | bool | int | float] | None = None,
) -> Dataset:
    """Open a dataset; only its index is read.

    Args:
        path: A `.jinx` file, a directory of shards, a pattern such as `"shard-*.jinx"`, or a list of these. A plain
            `.jsonl` file works too; one scan builds its index. So does an MDS directory (one with `index.json`).
            A `.jinx` file, a directory of shards or an MDS directory may be at a URL: `s3://`, `gs://`, `az://`, `https://`.
        lazy: Samples are mappings whose values are decoded on access; False gives plain dicts.
        io: `"mmap"` maps the files into memory, `"pread"` never does, `"auto"` maps local files.
        verify: The data to compare with checksums when they are read. `"full"`: rows, values and columns, so that
            nothing damaged is returned. `"rows"`: not the values in the sidecar, which may come back damaged. `"none"`:
            not the rows either. MDS has hashes of whole shards only: `"full"` compares those of shards that are
            compressed as files, if the index has them; see `jinx.mds.RamReader`. JINX 1.0 and JSON lines have no
            checksums.
        decode: True decodes images and audio on access; a dict names columns and kinds, e.g. `{"image": "numpy"}`. By
            default media are bytes, and MDS columns have the type that they declare (False: bytes there too). See
            `Dataset.decode`.
        split: Only the shards of this split, or the subdirectory of that name. A single file of another split is empty.
        columns: Only these columns; see `Dataset.select_columns`.
        encoding: The encoding of binary values in rows, for 1.0 files that do not say: `"a85"`, `"b64"`, `"hex"`.
        max_value_bytes: The largest decoded value; by default 2 GiB.
        markers: JSON lines: read markers such as `{"$bytes": "AA=="}` in every row, also in rows that do not begin with
            `"$jinx": 1`; see `convert`.
        cache: URLs: the directory on this machine that keeps what was read, for all processes; by default that of the
            environment variable JINX_CACHE, or `~/.cache/jinx`. False keeps nothing on disk. MDS: the directory that
            keeps decoded shards for random access, if they are compressed as files; by default a temporary directory.
            `"memory"` keeps two shards at a time in memory.
        cache_size: URLs: the most that the cache may hold, such as `"200GB"`; by default half of the free space.
        allow_unsafe_types: MDS: True, or names of columns, to load pickles, which may run any code.
        base: Saved views: the current path of each dataset that the view shows; by default the paths in the view. None
            refuses views, which may name any file that you can read.
        storage: URLs: options of the store, such as `{"region": "eu-west-1"}`, `{"endpoint": "https://minio:9000"}` or
            `{"anonymous": True}`. Credentials come from the environment. See the guide on buckets.

    Raises:
        FileNotFoundError: The file does not exist; the message names the nearest path.
        CorruptFileError: The file is damaged.
        UnsupportedError: The file is not a JINX file; the message has the command that converts it.
        ValueError: A directory without a manifest holds files of several formats; the message names them.
    """
    if split is not None:
        encodable("the split", split)
    path = resolved(path)
    directories = find_directories(path, split)
    if directories is not None:
        dataset = open_directories(
            Dataset,
            directories,
            io=io,
            lazy=lazy,
            verify=verify,
            cache=None if isinstance(cache, bool) else cache,
            image_bytes=decode is False,
            allow_unsafe_types=allow_unsafe_types,
            max_value_bytes=max_value_bytes,
        )
    else:
        if max_value_bytes is not None:
            size_number("max_value_bytes", max_value_bytes)
        kept: dict[str, Any] = {"lazy": lazy, "io": io, "verify": verify, "max_value_bytes": max_value_bytes}
        kept["encoding"] = encoding
        options = storage_options(storage, cache=cache, cache_size=cache_size)
        if options:
            kept["storage"] = options
        if _is_index_at_url(path):
            path = os.fsdecode(path).rpartition("/")[0]  # pyright: ignore[reportArgumentType]
        dataset = _open(path, split, **kept, markers=markers)
        if _is_mds_at_url(path, dataset):
            # Apply the options for MDS directories.
            dataset = open_directories(
                Dataset,
                [root_path for root in dataset._root_files() for root_path in root.paths],
                io=io,
                lazy=lazy,
                verify=verify,
                image_bytes=decode is False,
                allow_unsafe_types=allow_unsafe_types,
                max_value_bytes=max_value_bytes,
                storage=options,
            )
        elif dataset._is_saved_view():
            dataset = _view(dataset, lambda: _open(path, split, **kept, markers=markers), base, kept)
    if columns is not None:
        dataset = dataset.select_columns(columns)
    return dataset.decode(decode) if decode else dataset


def _is_mds_at_url(path: Any, dataset: Dataset) -> bool:
    is_directory = isinstance(path, str) and is_readable(path) and not path.endswith((".jinx", *PLAIN))
    return is_directory and any(root.kind == "mds" for root in dataset._root_files())


def _is_index_at_url(path: Any) -> bool:
    return isinstance(path, str) and is_readable(path) and path.endswith(f"/{INDEX}")


def _view(file: Dataset, again: Callable[[], Dataset], base: "Bases", options: dict[str, Any]) -> Dataset:
    """The view whose file is open. If a writer has replaced the file meanwhile, it is opened again."""
    from jinx._saved_views.bases import read_view
    from jinx._saved_views.open import open_view

    for _ in range(_ATTEMPTS):
        try:
            return open_view(file, base, options)
        except MismatchError:
            opened = file._shard_paths[0]
            if is_url(opened) or read_view(opened)["id"] == file._identities()[0][1]:
                raise
            file = again()
    return open_view(file, base, options)


def _open(path: Source | Sequence[Source], split: str | None, **options: Any) -> Dataset:
    location = _location(path, split)
    try:
        return Dataset(location=location, split=split, **options)
    except UnsupportedError:
        _refuse_views_among(path, location)
        if not isinstance(location, str):
            refuse_views_of_several(location)
        raise
    except CorruptFileError as error:
        damaged = "" if error.path is None else os.fsdecode(error.path)
        opened = [location] if isinstance(location, str) else location
        # Only a file that was opened may be in another format, not its sidecar.
        if damaged and not is_url(damaged) and (damaged in opened or not damaged.endswith(".binx")):
            # An interrupted writer leaves rows without a footer, or an empty file. The original error describes this
            # better.
            explain_foreign(damaged, except_for=("a JSON Lines file", "an empty file"))
        raise


def _refuse_views_among(path: Source | Sequence[Source], location: str | list[str]) -> None:
    """Refuse a mixture of views and other files; the error names a view and another file.

    Raises:
        UnsupportedError: See `refuse_views_among`.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        return
    place = os.fsdecode(path)
    if isinstance(location, str):
        if not os.path.isdir(location) or has_manifest(location):  # noqa: PTH112 - str in
            return
        location = [file for file, _, _ in _core.resolve(location)]
    refuse_views_among(place, location)


def _location(path: Source | Sequence[Source], split: str | None) -> str | list[str]:
    """The path, or several for a pattern or a list.

    Raises:
        UnsupportedError: A file has another format.
    """
    if isinstance(path, str | bytes | os.PathLike):
        name = os.fsdecode(path)
        files = _files(name, split)
        return name if files == [name] else files
    if not isinstance(path, Iterable) or isinstance(path, IOBase):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"open takes a path or a list of paths, not {type(path).__name__}")
    return [file for item in path for file in _files(os.fsdecode(item), split)]


def _files(path: str, split: str | None) -> list[str]:
    """A path, or the files that it matches as a pattern."""
    if is_url(path):
        if not is_readable(path) or format_of(path) not in {"jinx", None}:
            raise UnsupportedError(f"{path}: this kind of URL cannot be opened; run: jinx convert {path} out.jinx")
        return [path]
    status = look(path)
    if status is None:
        matches = expand_pattern(path)
        if not matches:
            raise missing(path)
        return [file for match in matches for file in _files(match, split)]
    if stat.S_ISDIR(status.st_mode):
        inner = os.path.join(path, split) if split else path  # noqa: PTH118
        refuse_mixed(inner if os.path.isdir(inner) else path)  # noqa: PTH112
        return [path]
    lower = path.lower()
    is_array = lower.endswith(".json") and _core.sniff(path)[0] == "a JSON array"
    if is_array or not lower.endswith((".jinx", *PLAIN)):
        explain_foreign(path)
    return [path]


def look(path: str) -> os.stat_result | None:
    """The status of a path, or None if nothing is there; a failing file system raises an error instead."""
    for stat_of in (os.stat, os.lstat):  # a dangling link also exists
        try:
            return stat_of(path)
        except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: the name contains a NUL
            continue
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:  # a pattern may be longer than any file name
                raise
    return None


def expand_pattern(pattern: str) -> list[str]:
    """The files that a pattern matches, in natural order (`part-2` before `part-10`); none if it is not a pattern."""
    if not _GLOB & set(pattern):
        return []
    import glob

    return sorted(glob.glob(pattern, recursive=True), key=natural_key)  # noqa: PTH207


def natural_key(name: str) -> list[tuple[int, Any]]:
    """A sort key that compares numbers in names by value."""
    import re

    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name)]


def missing(path: str) -> OSError:
    """The error for a path that does not exist, with the nearest name in its directory."""
    if not path:
        return FileNotFoundError("the input has an empty name; give the name of a file or directory")
    directory, name = os.path.split(path)
    if _GLOB & set(name):
        return FileNotFoundError(f"{path}: no file matches this pattern")
    try:
        entries = os.listdir(directory or ".")  # noqa: PTH208
        # Hidden files are metadata and locks, including our own, so do not suggest them.
        near = hint(name, [entry for entry in entries if name.startswith(".") or not entry.startswith(".")])
    except FileNotFoundError:
        return FileNotFoundError(f"{path}: no such file; the directory {directory} does not exist either")
    except OSError as error:  # the name is too long, or a parent is a file or not readable
        return OSError(error.errno, error.strerror, path)
    return FileNotFoundError(f"{path}: no such file{near}")


def explain_foreign(path: str, *, except_for: Sequence[str] = ()) -> None:
    """Raise an error that says what to do with a file of another format; return if it may be a JINX file.

    Args:
        path: The file.
        except_for: Kinds of files for which to return as well.

    Raises:
        UnsupportedError: The file has another format.
    """
    kind, advice = _core.sniff(path)
    if kind in {"a JINX file", "not a format that jinx knows", *except_for}:
        return
    raise UnsupportedError(f"{path}: this is {kind}{f'; {advice}' if advice else ''}")
