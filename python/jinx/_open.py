"""Opening what a user names: a file, a folder, a pattern, or a list of these."""

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from io import IOBase
from typing import TYPE_CHECKING, Any, Literal

from jinx import _core
from jinx._dataset.dataset import Dataset
from jinx._suggest import hint
from jinx.errors import CorruptFileError, JinxError, MismatchError, UnsupportedError
from jinx.mds._folders import find_folders, open_folders

if TYPE_CHECKING:
    from jinx._dataset.decode_media import DecodeSpec

_Shard = tuple[str, int | None, str | None]

Source = str | os.PathLike[str]
_PLAIN = (".jsonl", ".ndjson", ".jsonlines", ".json")
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
    cache: Source | None = None,
    allow_unsafe_types: bool | Sequence[str] = False,
) -> Dataset:
    """Open a dataset; nothing is read but its index.

    Args:
        path: A `.jinx` file, a folder of shards, a pattern such as `"shard-*.jinx"`, or a list of these. A plain
            `.jsonl` file works too; its index is built by one scan. So does an MDS folder (one with `index.json`).
        lazy: Samples are mappings whose values are decoded when touched; False gives plain dicts.
        io: `"mmap"` maps the files into memory, `"pread"` never does, `"auto"` maps local files.
        verify: What is compared with its checksum when it is read. `"full"`: rows, values and columns, so that nothing
            damaged is returned. `"rows"`: not the values in the sidecar, which may come back damaged. `"none"`: not the
            rows either. Of MDS, whose hashes are of whole shards, `"full"` compares those of shards that are compressed
            as files, where the index has them; see `jinx.mds.RamReader`. JINX 1.0 and JSON lines have no checksums.
        decode: True decodes images and audio when they are touched; a dict says which fields and how, e.g.
            `{"image": "numpy"}`. The default gives bytes, and what MDS columns are declared as (False: bytes there
            too). See `Dataset.decode`.
        split: Only the shards of this split, or the sub-folder of that name.
        columns: Only these columns; see `Dataset.select_columns`.
        encoding: How binary values in the rows are encoded, for 1.0 files that do not say: `"a85"`, `"b64"`, `"hex"`.
        max_value_bytes: No value may be larger than this when decoded; 2 GiB if not given.
        markers: JSON lines: read markers such as `{"$bytes": "AA=="}` in every row, also in rows that do not say that
            they hold some; see `convert`.
        cache: MDS: the folder in which shards compressed as files are kept decoded for random access; a temporary
            folder if not given, or `"memory"` for two at a time in memory.
        allow_unsafe_types: MDS: True, or the columns, to load pickles, which may run any code.

    Raises:
        FileNotFoundError: There is no such file; the message names the nearest one.
        CorruptFileError: The file is damaged.
        UnsupportedError: It is no JINX file; the message holds the command that makes it one.
    """
    folders = find_folders(path, split)
    if folders is not None:
        dataset = open_folders(
            Dataset,
            folders,
            io=io,
            lazy=lazy,
            verify=verify,
            cache=cache,
            image_bytes=decode is False,
            allow_unsafe_types=allow_unsafe_types,
            max_value_bytes=max_value_bytes,
        )
    else:
        dataset = _steadily(
            path,
            split,
            lazy=lazy,
            io=io,
            verify=verify,
            encoding=encoding,
            max_value_bytes=max_value_bytes,
            markers=markers,
        )
    if columns is not None:
        dataset = dataset.select_columns(columns)
    return dataset.decode(decode) if decode else dataset


def _steadily(path: Source | Sequence[Source], split: str | None, **options: Any) -> Dataset:
    """Open while a writer may be replacing the folder: when it does, all is done again."""
    for _ in range(_ATTEMPTS):
        state = _state(path)
        try:
            dataset = _open(path, split, **options)
        except (JinxError, OSError):
            if _state(path) == state:
                raise
        else:
            if _state(path) == state:
                return dataset
    raise MismatchError(f"{path}: this folder keeps changing while it is opened; try again")


def _state(path: Source | Sequence[Source]) -> tuple[int, ...] | None:
    """What changes when the folder `path` is replaced or grows; None for all else."""
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    try:
        status = os.stat(os.path.join(os.fsdecode(path), "jinx.json"))  # noqa: PTH116, PTH118 - text in, text out
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _open(path: Source | Sequence[Source], split: str | None, **options: Any) -> Dataset:
    shards, plain = _shards(path, split)
    expected = [(samples, digest) for _, samples, digest in shards if samples is not None and digest is not None]
    try:
        return Dataset(
            [name for name, _, _ in shards],
            split=split,
            plain=plain,
            **options,
            # With a split every shard is opened to see whether it counts.
            expected=expected if split is None and expected and len(expected) == len(shards) else None,
        )
    except CorruptFileError:
        for name, _, _ in shards:
            # Rows without a footer, or nothing at all, are what a stopped writer leaves: the first error says so.
            explain_foreign(name, except_for=("a JSON Lines file", "an empty file"))
        raise


def _shards(path: Source | Sequence[Source], split: str | None) -> tuple[list[_Shard], bool]:
    """The files in order, and whether they are plain JSON lines."""
    if isinstance(path, str | bytes | os.PathLike):
        return _shards_of_one(os.fsdecode(path), split)
    if not isinstance(path, Iterable) or isinstance(path, IOBase):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a dataset is opened by a path or a list of paths, not by {type(path).__name__}")
    found: list[_Shard] = []
    kinds: set[bool] = set()
    for one in path:
        shards, plain = _shards_of_one(os.fsdecode(one), split)
        found += shards
        kinds.add(plain)
    if not found:
        raise ValueError("nothing to open: the list of paths is empty")
    if len(kinds) > 1:
        raise ValueError("JINX files and plain JSON lines cannot be opened together; convert the latter first")
    return found, kinds.pop()


def _shards_of_one(path: str, split: str | None) -> tuple[list[_Shard], bool]:
    if "://" in path:
        raise UnsupportedError(f"{path}: only local files can be opened; run: jinx convert {path} out.jinx")
    there = look(path)
    if there is not None and stat.S_ISDIR(there.st_mode):
        inner = os.path.join(path, split) if split else path  # noqa: PTH118
        return _core.resolve(inner if os.path.isdir(inner) else path), False  # noqa: PTH112
    if there is None:
        matches = expand_pattern(path)
        if not matches:
            raise missing(path)
        return _shards(matches, split)
    lower = path.lower()
    if lower.endswith(_PLAIN):
        if lower.endswith(".json") and _core.sniff(path)[0] == "a JSON array":
            explain_foreign(path)
        return [(path, None, None)], True
    if not lower.endswith(".jinx"):
        explain_foreign(path)
    return [(path, None, None)], False


def look(path: str) -> os.stat_result | None:
    """What lies at a path, or None; a file system that fails is an error and no missing file."""
    for stat_of in (os.stat, os.lstat):  # a link that leads nowhere is there, too
        try:
            return stat_of(path)
        except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the name
            continue
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:  # a pattern may be longer than a name
                raise
    return None


def expand_pattern(pattern: str) -> list[str]:
    """The files a pattern matches, in natural order (`part-2` before `part-10`); none if it is no pattern."""
    if not _GLOB & set(pattern):
        return []
    import glob

    return sorted(glob.glob(pattern, recursive=True), key=natural_key)  # noqa: PTH207


def natural_key(name: str) -> list[tuple[int, Any]]:
    """Sorts numbers in names by value."""
    import re

    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name)]


def missing(path: str) -> OSError:
    """The error for a path that does not exist, with the nearest name of its folder."""
    folder, name = os.path.split(path)
    if _GLOB & set(name):
        return FileNotFoundError(f"{path}: no file matches this pattern")
    try:
        near = hint(name, os.listdir(folder or "."))  # noqa: PTH208
    except FileNotFoundError:
        return FileNotFoundError(f"{path}: no such file; the folder {folder} does not exist either")
    except OSError as error:  # the name is too long, a part of it is a file, or may not be read
        return OSError(error.errno, error.strerror, path)
    return FileNotFoundError(f"{path}: no such file{near}")


def explain_foreign(path: str, *, except_for: Sequence[str] = ()) -> None:
    """Raise an error that says what to do with a file that is no JINX file; return when it may be one.

    Args:
        path: The file.
        except_for: Other kinds of files for which to return.

    Raises:
        UnsupportedError: It is something else.
    """
    kind, advice = _core.sniff(path)
    if kind in {"a JINX file", "not a format that jinx knows", *except_for}:
        return
    raise UnsupportedError(f"{path}: this is {kind}{f'; {advice}' if advice else ''}")
