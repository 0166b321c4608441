"""Inputs at URLs such as `s3://bucket/data/*.parquet`: they are downloaded next to the output until they are read."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from jinx._convert.store_files import SCHEMES, StoreFiles
from jinx._optional import require
from jinx._scratch import scratch_directory
from jinx._urls import is_url
from jinx.errors import JinxError

# The keys under which fsspec file systems report the identity of a file's content; each uses other names.
_FACTS = (
    "size",
    "ETag",
    "etag",
    "md5Hash",
    "generation",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "created",
)


@contextmanager
def fetched(paths: Sequence[str], directory: str) -> Generator[list[str]]:
    """The paths with every URL replaced by a local copy, which is removed at the end.

    Args:
        paths: Local paths and URLs; directories and patterns of URLs stand for the files in them.
        directory: A hidden directory in this one holds the copies.

    Raises:
        ImportError: There is a URL, and fsspec or a package that it needs for this kind of URL is not installed.
        FileNotFoundError: There is no file at a URL.
    """
    if not any(is_url(path) for path in paths):
        yield list(paths)
        return
    with scratch_directory(directory) as work:
        names: dict[str, str] = {}
        local: list[str] = []
        for path in paths:
            local += _copies(path, work, names) if is_url(path) else [path]
        try:
            yield local
        except JinxError as error:
            text = str(error)
            for copy, url in names.items():
                text = text.replace(copy, url)
            raise type(error)(text) from error


def url_facts(url: str) -> list[tuple[str, dict[str, str]]]:
    """The identity of the files at a URL: for each file its URL, and its size, time or ETag.

    Raises:
        ImportError: fsspec or a package that it needs for this kind of URL is not installed.
        FileNotFoundError: There is no file at the URL.
    """
    files, remotes = _files_at(url)
    facts: list[tuple[str, dict[str, str]]] = []
    for name in remotes:
        info = files.info(name)
        known = {fact: str(info[fact]) for fact in _FACTS if info.get(fact) is not None}
        facts.append((files.unstrip_protocol(name), known))
    return facts


def _files_at(url: str) -> tuple[Any, list[str]]:
    """The file system of a URL, and the files at the URL."""
    if url.partition("://")[0].lower() in SCHEMES:
        files: Any = StoreFiles()
        remotes = _found(files, url)
    else:
        core = require("fsspec.core", extra="remote", what=f"reading {url}")
        try:
            files, path = core.url_to_fs(url)
            remotes = _found(files, path)
        except ImportError as error:
            raise ImportError(f"{url}: {error}") from error
    if not remotes:
        raise FileNotFoundError(f"{url}: no such file")
    return files, remotes


def _copies(url: str, work: str, names: dict[str, str]) -> list[str]:
    files, remotes = _files_at(url)
    copies: list[str] = []
    for remote in remotes:
        directory = os.path.join(work, str(len(names)))  # noqa: PTH118 - str in, str out
        os.mkdir(directory)  # noqa: PTH102
        copy = os.path.join(directory, os.path.basename(remote))  # noqa: PTH118, PTH119
        files.get_file(remote, copy)
        names[copy] = files.unstrip_protocol(remote)
        copies.append(copy)
    return copies


def _found(files: Any, path: str) -> list[str]:
    from jinx._convert.formats import format_of
    from jinx._open import natural_key

    if set("*?[") & set(path):
        matches: list[str] = [name for name in files.glob(path) if files.isfile(name)]
    elif files.isdir(path):
        matches = [name for name in files.find(path) if format_of(name) is not None]
    else:
        matches = [path] if files.exists(path) else []
    return sorted(matches, key=natural_key)
