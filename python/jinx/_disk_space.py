"""Checks that the disk has room before a long write."""

import errno
import os
from collections.abc import Iterable

from jinx._sizes import natural_size


def require_space(out: str, needed: int) -> None:
    """Refuse an output that does not fit on its disk.

    Space that is reserved for root does not count. Another process may fill the disk meanwhile, so a write may still
    fail.

    Args:
        out: The output, which need not exist yet.
        needed: Bytes that will be written, temporary files included.

    Raises:
        OSError: There is not enough room (`errno.ENOSPC`).
    """
    free = free_bytes(out)
    if needed > free:
        message = f"about {natural_size(needed)} are needed here, and {natural_size(free)} are free"
        raise OSError(errno.ENOSPC, message, out)


def unpacked_bytes(files: Iterable[str | os.PathLike[str]]) -> int:
    """The approximate number of bytes in files; for `.gz` and `.zst` the unpacked bytes, if the file records them."""
    return sum(max(os.path.getsize(file), _said_by(file)) for file in files if os.path.isfile(file))  # noqa: PTH113, PTH202


def _said_by(file: str | os.PathLike[str]) -> int:
    name = os.fspath(file).lower()
    try:
        with open(file, "rb") as opened:  # noqa: PTH123 - str in
            if name.endswith(".gz"):
                opened.seek(-4, os.SEEK_END)  # gzip stores the size modulo 2**32
                return int.from_bytes(opened.read(4), "little")
            return _said_by_frame(opened.read(18)) if name.endswith((".zst", ".zstd")) else 0
    except OSError:  # the file is too short; reading it reports the error
        return 0


def _said_by_frame(head: bytes) -> int:
    """The size in the header of a Zstandard frame; 0 if there is none (RFC 8878, section 3.1.1.1)."""
    if len(head) < 6 or head[:4] != b"\x28\xb5\x2f\xfd":  # noqa: PLR2004
        return 0
    flags = head[4]
    is_single = flags >> 5 & 1
    width = (is_single, 2, 4, 8)[flags >> 6]
    start = 5 + (0 if is_single else 1) + (0, 1, 2, 4)[flags & 3]
    return int.from_bytes(head[start : start + width], "little") + (256 if width == 2 else 0)  # noqa: PLR2004


def free_bytes(path: str) -> int:
    """The bytes that can still be written to the file system where `path` is or will be."""
    # Links to directories are followed to the disk that will hold the file; a link at `path` itself is replaced.
    is_directory = os.path.isdir(path)  # noqa: PTH112 - str in
    directory = os.path.realpath(path if is_directory else os.path.dirname(os.path.abspath(path)))  # noqa: PTH100, PTH120
    while not os.path.exists(directory):  # noqa: PTH110 - str in, str out
        directory = os.path.dirname(directory)  # noqa: PTH120
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize
