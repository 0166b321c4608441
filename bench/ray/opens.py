"""Who opens the files of a directory, on the whole machine."""

import ctypes
import os
import struct
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

# Of <sys/inotify.h>.
_NONBLOCK, _OPEN, _OVERFLOW = 0o4000, 0x20, 0x4000
_HEAD = struct.Struct("iIII")
_READ_BYTES = 1 << 20


@contextmanager
def opens(folder: Path) -> Generator[Counter[str]]:
    """Count how often each file of a directory is opened, by name, by any process; opens in a row may count once.

    Yields:
        The counts, which are complete when the context ends.

    Raises:
        OSError: The directory cannot be watched, or there were too many opens to be counted.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    file = _called(libc.inotify_init1(_NONBLOCK))
    counted: Counter[str] = Counter()
    try:
        _called(libc.inotify_add_watch(file, os.fsencode(folder), _OPEN))
        yield counted
        with suppress(BlockingIOError):
            while events := os.read(file, _READ_BYTES):
                _count(events, counted)
    finally:
        os.close(file)


def _called(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _count(events: bytes, counted: Counter[str]) -> None:
    at = 0
    while at < len(events):
        _, mask, _, length = _HEAD.unpack_from(events, at)
        if mask & _OVERFLOW:
            raise OSError("more opens than the kernel notes down")
        at += _HEAD.size
        counted[os.fsdecode(events[at : at + length].rstrip(b"\0"))] += 1
        at += length
