"""Finds and opens MDS directories: those with an `index.json`."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from jinx import _core
from jinx._core import Reader

D = TypeVar("D", bound=Reader)

INDEX = "index.json"
Source = str | os.PathLike[str]


def find_directories(path: Any, split: str | None = None) -> list[str] | None:
    """The MDS directories that `path` names; None if it names anything else.

    Args:
        path: A directory, its `index.json`, or a list of these.
        split: The subdirectory to take.

    Raises:
        ValueError: Only some paths of the list are MDS directories.
        FileNotFoundError: The directory has splits, and none was named.
    """
    if isinstance(path, str | bytes | os.PathLike):
        single = _directory(os.fsdecode(path), split)  # pyright: ignore[reportUnknownArgumentType]
        return None if single is None else [single]
    if not isinstance(path, Sequence):
        return None
    directories = [
        _directory(os.fsdecode(item), split)  # pyright: ignore[reportUnknownArgumentType]
        for item in path  # pyright: ignore[reportUnknownVariableType]
        if isinstance(item, str | bytes | os.PathLike)
    ]
    mds_directories = [directory for directory in directories if directory is not None]
    if not mds_directories:
        return None
    if len(mds_directories) < len(path):  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError("MDS directories and other files cannot be opened together; convert one kind first")
    return mds_directories


def _directory(path: str, split: str | None) -> str | None:
    # A path that the file system's encoding cannot represent does not exist.
    directory = _core.mds_directory(path, split) if os.path.exists(path) else None  # noqa: PTH110
    if directory is not None:
        return directory
    if not os.path.isdir(path) or os.path.exists(os.path.join(path, "jinx.json")):  # noqa: PTH110, PTH112, PTH118
        return None
    splits = [] if split else _splits(path)
    if splits:
        names = ", ".join(repr(name) for name in splits[:8])
        raise FileNotFoundError(f"{path}: no {INDEX} here, but in its subdirectories: give split= one of {names}")
    return None


def _splits(path: str) -> list[str]:
    """The subdirectories that are MDS directories, if there is no other dataset next to them."""
    with os.scandir(path) as entries:
        listing = list(entries)
    if any(entry.name.endswith((".jinx", ".binx")) for entry in listing):
        return []
    inner = [entry.name for entry in listing if os.path.isfile(os.path.join(entry.path, INDEX))]  # noqa: PTH113, PTH118
    return sorted(inner)


def open_directories(
    kind: type[D],
    directories: Iterable[str],
    *,
    io: str = "auto",
    lazy: bool = True,
    verify: str = "full",
    hashes: bool = False,
    cache: Source | None = None,
    image_bytes: bool = False,
    allow_unsafe_types: bool | Sequence[str] = False,
    max_value_bytes: int | None = None,
    storage: Mapping[str, str] | None = None,
) -> D:
    """Open MDS directories as one dataset of the class `kind`; see `jinx.open`."""
    unpack = None if cache is None else os.fsdecode(cache)
    if unpack is not None and unpack not in {"memory", "private"}:
        unpack = os.path.abspath(unpack)  # noqa: PTH100 - str in, str out
    options: dict[str, Any] = {"unpack": unpack}
    if hashes:
        options["hashes"] = True
    if image_bytes:
        options["image_bytes"] = True
    if allow_unsafe_types:
        options["allow_unsafe_types"] = (
            allow_unsafe_types if isinstance(allow_unsafe_types, bool) else list(allow_unsafe_types)
        )
    return kind(
        list(directories),
        io=io,
        lazy=lazy,
        verify=verify,
        max_value_bytes=max_value_bytes,
        mds=options,
        storage=dict(storage) if storage else None,
    )
