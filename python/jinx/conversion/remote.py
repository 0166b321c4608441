"""Inputs behind addresses such as `s3://bucket/data/*.parquet`: copied beside the output while they are read."""

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from jinx._optional import require
from jinx.errors import JinxError


def is_address(path: str) -> bool:
    """Whether a path is for fsspec."""
    return "://" in path


@contextmanager
def fetched(paths: Sequence[str], beside: str) -> Generator[list[str]]:
    """The paths with every address replaced by a local copy, which is removed at the end.

    Args:
        paths: Local paths and addresses; folders and patterns of addresses stand for the files in them.
        beside: The copies go to a hidden folder in this one.

    Raises:
        ImportError: There is an address, and fsspec or what it needs for this kind of address is not installed.
        FileNotFoundError: Nothing is at an address.
    """
    if not any(is_address(path) for path in paths):
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(dir=beside, prefix=".jinx-fetched-") as work:
        names: dict[str, str] = {}
        local: list[str] = []
        for path in paths:
            local += _copies(path, work, names) if is_address(path) else [path]
        try:
            yield local
        except JinxError as error:
            text = str(error)
            for copy, address in names.items():
                text = text.replace(copy, address)
            raise type(error)(text) from error


def _copies(address: str, work: str, names: dict[str, str]) -> list[str]:
    core = require("fsspec.core", extra="remote", what=f"reading {address}")
    try:
        files, found = _found(core, address)
    except ImportError as error:
        raise ImportError(f"{address}: {error}") from error
    if not found:
        raise FileNotFoundError(f"{address}: there is no such file")
    copies: list[str] = []
    for remote in found:
        folder = os.path.join(work, str(len(names)))  # noqa: PTH118 - text in, text out
        os.mkdir(folder)  # noqa: PTH102
        copy = os.path.join(folder, os.path.basename(remote))  # noqa: PTH118, PTH119
        files.get_file(remote, copy)
        names[copy] = files.unstrip_protocol(remote)
        copies.append(copy)
    return copies


def _found(core: Any, address: str) -> tuple[Any, list[str]]:
    from jinx.formats.registry import format_of
    from jinx.opening import natural_key

    files, path = core.url_to_fs(address)
    if set("*?[") & set(path):
        found: list[str] = [name for name in files.glob(path) if files.isfile(name)]
    elif files.isdir(path):
        found = [name for name in files.find(path) if format_of(name) is not None]
    else:
        found = [path] if files.exists(path) else []
    return files, sorted(found, key=natural_key)
