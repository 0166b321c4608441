"""Detects whether files that operators and samples name were replaced by others."""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

_MAX_READ: Final = 64 << 20
# The number and size of the parts that are read from a larger file.
_SAMPLES: Final = 64
_SAMPLE_BYTES: Final = 256 << 10
# For a directory with more files, only sizes and times are compared, because reading them could take long.
_MAX_FILES: Final = 100


def path_facts(path: str) -> list[Any]:
    """Facts that show whether a file, or any visible file in a directory, was replaced.

    It is empty if there is nothing.
    """
    root = Path(path)
    if not root.is_dir():
        return file_facts(path) if root.is_file() else []
    names = sorted(file.relative_to(root) for file in root.rglob("*") if file.is_file())
    shown = [name for name in names if not any(part.startswith(".") for part in name.parts)]
    if len(shown) > _MAX_FILES:
        return [[str(name), *_state(root / name)[1:3]] for name in shown]
    return [[str(name), *file_facts(str(root / name))] for name in shown]


def file_facts(path: str) -> list[str | int]:
    """What tells a file from one that replaces it: a digest of the content; for a large file, its time and samples."""
    state = _state(Path(path))
    digest = _digest(path, *state)
    return [digest] if state[1] <= _MAX_READ else [*state[1:3], digest]


def small_file_digest(path: str) -> str | None:
    """The digest of a file's content; None if it is large, or not a file."""
    file = Path(path)
    return _digest(path, *state) if file.is_file() and (state := _state(file))[1] <= _MAX_READ else None


def _state(file: Path) -> tuple[int, int, int, int]:
    status = file.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(maxsize=1024)
def _digest(path: str, *state: int) -> str:
    size = state[1]  # the key contains the other file facts, so the file is read again if it has changed
    is_small = size <= _MAX_READ
    digest = sha256()
    with Path(path).open("rb") as file:
        for start in range(0, max(size, 1), _MAX_READ if is_small else size // _SAMPLES):
            file.seek(start)
            digest.update(file.read(_MAX_READ if is_small else _SAMPLE_BYTES))
    return digest.hexdigest()[:32]
