"""Records the media that a task reads from files and buckets, so that a resumed run can tell if they changed."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from jinx_pipeline.sample.bucket_media import info_of
from jinx_pipeline.store.mirror import is_remote

MediaState = list[int] | list[str]
"""The size, the modification time and the number (inode) of a file, or the tag of an object in a store."""
MediaStates = dict[str, MediaState]
"""The states of media by their absolute paths or URLs."""

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
    """Record the file, and return it. Its state is recorded before it is read, so that a later change is noticed."""
    name = os.path.abspath(file)  # noqa: PTH100 - returns a str
    if _recordings and name not in _recordings[-1]:
        # A missing file makes a bad row, and is not examined again.
        with suppress(OSError):
            _recordings[-1][name] = state_of(name)
    return file


def record_object(url: str, tag: str) -> None:
    """Record the state in which an object was read."""
    if _recordings:
        _recordings[-1].setdefault(url, [tag])


def state_of(name: str) -> MediaState:
    """The state of a file or an object.

    Raises:
        OSError: There is none.
    """
    if is_remote(name):
        return [info_of(name).tag]
    status = os.stat(name)  # noqa: PTH116 - str in
    return [status.st_size, status.st_mtime_ns, status.st_ino]
