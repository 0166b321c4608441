"""Finds the input files that a user names, and their format."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jinx import _core
from jinx._convert.formats import NAMES, format_of
from jinx._directories import files_in, refuse_views_among
from jinx._open import expand_pattern, missing, natural_key
from jinx._urls import is_readable, is_url, resolved
from jinx.errors import UnsupportedError
from jinx.mds._directories import find_directories

Path = str | os.PathLike[str]

_BY_CONTENT = {
    "a JINX file": "jinx",
    "a Parquet file": "parquet",
    "an Arrow IPC file": "arrow",
    "a JSON Lines file": "jsonl",
    "a JSON array": "jsonl",
    "a tar archive": "tar",
    "a MessagePack file": "msgpack",
}

_POINTER_BYTES = 1024


@dataclass(frozen=True)
class Inputs:
    """Files of one format, in order."""

    files: list[str]
    format: str


def is_paths(source: Any) -> bool:
    """Whether a source is a path or a sequence of paths."""
    if isinstance(source, str | os.PathLike):
        return True
    if not isinstance(source, list | tuple):
        return False
    items: list[Any] = list(source)  # pyright: ignore[reportUnknownArgumentType]
    return bool(items) and all(isinstance(item, str | os.PathLike) for item in items)


def paths_of(source: Path | Iterable[Path]) -> list[str]:
    """The paths and URLs in a source: one, or several."""
    paths = [source] if isinstance(source, str | bytes | os.PathLike) else source  # pyright: ignore[reportUnnecessaryIsInstance]
    return [os.fsdecode(path) for path in paths]


def in_place(source: Any) -> Any:
    """Datasets at URLs, opened in place; any other source unchanged."""
    if not is_paths(source):
        return source
    urls = paths_of(source)
    are_files = all(is_readable(url) and url.endswith(".jinx") and "*" not in url for url in urls)
    if not are_files and not (len(urls) == 1 and _is_directory_at_url(urls[0])):
        return source
    from jinx._open import open

    return open(urls[0] if len(urls) == 1 else urls)


def _is_directory_at_url(url: str) -> bool:
    """Whether there is a directory of JINX or MDS shards at the URL."""
    if not is_readable(url) or format_of(url) is not None or set("*?[") & set(url):
        return False
    from jinx._object_store import ObjectStore

    store = ObjectStore()
    return any(store.exists(f"{url.rstrip('/')}/{name}") for name in ("jinx.json", "index.json"))


def find_inputs(paths: Sequence[str], format: str | None = None) -> Inputs:
    """The files behind paths, directories and patterns.

    Args:
        paths: A directory stands for its shards, or for all files of a known format below it.
        format: The format, if the suffixes do not show it.

    Raises:
        FileNotFoundError: A file does not exist, or a directory has no file of a known format.
        ValueError: The files have different formats, or an unknown format.
    """
    if format is not None and format not in NAMES:
        raise ValueError(f"format {format!r} is not known; use one of {', '.join(NAMES)}")
    entries = [entry for path in paths for entry in _inputs_of(path, format)]
    if not paths:
        raise ValueError("nothing to convert: the list of paths is empty")
    # The manifest of a directory may list no shards.
    formats = sorted({kind for _, kind in entries}) or ["jinx"]
    if len(formats) > 1:
        raise ValueError(f"the inputs have different formats ({', '.join(formats)}); convert them one by one")
    for path, _ in entries:
        _refuse_pointer(path)
    return Inputs([path for path, _ in entries], formats[0])


def _inputs_of(path: str, format: str | None) -> list[tuple[str, str]]:
    if path == "-":
        if format is None:
            raise ValueError(
                "standard input has no suffix that names its format; give it, for instance --input-format jsonl"
            )
        return [(path, format)]
    path = resolved(path)
    if is_url(path):
        return [_input_at(path, format)]
    if format in {None, "mds"} and os.path.isdir(path):  # noqa: PTH112
        directories = find_directories(path)
        if directories is not None:
            return [(directory, "mds") for directory in directories]
        if format == "mds":
            raise FileNotFoundError(f"{path}: this is not an MDS directory; it has no index.json")
    if os.path.isdir(path):  # noqa: PTH112
        files = files_in(path, format)
        # Shards stay in the order of their dataset.
        is_jinx = all(kind == "jinx" for _, kind in files)
        return files if is_jinx else sorted(files, key=lambda entry: natural_key(entry[0]))
    if os.path.lexists(path):
        return [(path, format or format_of(path) or _by_content(path))]
    matches = expand_pattern(path)
    if not matches:
        raise missing(path)
    found = [entry for match in matches for entry in _inputs_of(match, format)]
    refuse_views_among(path, [file for file, kind in found if kind == "jinx" and file in matches])
    return found


def _input_at(url: str, format: str | None) -> tuple[str, str]:
    """A dataset at a URL that is read in place.

    Raises:
        UnsupportedError: The URL names another format.
    """
    if is_readable(url) and (format or format_of(url) or "jinx") == "jinx":
        return url, "jinx"
    raise UnsupportedError(f"{url}: only JINX can be read at URLs like this; run: jinx convert {url} out.jinx")


def _refuse_pointer(path: str) -> None:
    """Refuse a Git LFS pointer: a few lines of text that stand for a large file until `git lfs pull`.

    Raises:
        UnsupportedError: The file is a pointer.
    """
    try:
        is_small = 0 < os.stat(path).st_size < _POINTER_BYTES  # noqa: PTH116 - str in, str out
    except OSError:
        return
    kind, advice = _core.sniff(path) if is_small and os.path.isfile(path) else ("", None)  # noqa: PTH113
    if "Git LFS" in kind:
        raise UnsupportedError(f"{path}: this is {kind}; {advice}")


def _by_content(path: str) -> str:
    kind, advice = _core.sniff(path)
    if kind in _BY_CONTENT:
        return _BY_CONTENT[kind]
    hint = f"; {advice}" if advice else f"; say what it is, for instance --input-format {NAMES[1]}"
    raise UnsupportedError(f"{path}: its suffix names no format, and by its content it is {kind}{hint}")
