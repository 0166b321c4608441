"""The models, word lists and other files that operators need."""

import os
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

_MAX_READ: Final = 64 << 20


@dataclass(frozen=True)
class NeededFile:
    """A file or directory without which an operator fails on every sample.

    Attributes:
        parameter: The operator's parameter that names it.
        path: The path, as in the parameter.
        is_there: Whether it exists on this machine.
    """

    parameter: str
    path: str
    is_there: bool


def needed(parameter: str, path: str | os.PathLike[str]) -> NeededFile:
    """A file or directory that a parameter names."""
    return NeededFile(parameter, os.fspath(path), os.path.exists(path))  # noqa: PTH110 - str in, str out


def file_facts(path: str) -> list[str | int]:
    """What tells a file from one that takes its place: a digest of the content, or of a large one size and time."""
    status = Path(path).stat()
    if status.st_size > _MAX_READ:
        return [status.st_size, status.st_mtime_ns]
    return [_digest(path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)]


@lru_cache(maxsize=256)
def _digest(path: str, *state: int) -> str:
    del state  # the file is read again if it has changed
    return sha256(Path(path).read_bytes()).hexdigest()[:32]
