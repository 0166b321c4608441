"""Records the media files that a task reads, so that a resumed run can tell whether they have changed since."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

MediaStates = dict[str, list[int]]
"""The size, the modification time and the number (inode) of each file."""

# A worker runs one task at a time, but its operators may read media in several threads.
_recordings: list[MediaStates] = []


@contextmanager
def recorded_media() -> Generator[MediaStates]:
    """Record the media files that are read within the `with` block."""
    states: MediaStates = {}
    _recordings.append(states)
    try:
        yield states
    finally:
        _recordings.pop()


def recorded(file: Path) -> Path:
    """Return the file. Its state is recorded before it is read, so that a later change is noticed."""
    name = os.path.abspath(file)  # noqa: PTH100 - str out
    if _recordings and name not in _recordings[-1]:
        # A missing file is a bad row, and not looked at again.
        with suppress(OSError):
            _recordings[-1][name] = state_of(name)
    return file


def state_of(name: str) -> list[int]:
    """The state of a file.

    Raises:
        OSError: There is none.
    """
    status = os.stat(name)  # noqa: PTH116 - str in
    return [status.st_size, status.st_mtime_ns, status.st_ino]
