"""Room on the disk, looked at before a long write."""

import errno
import os

from jinx._sizes import natural_size


def require_space(out: str, needed: int) -> None:
    """Refuse to start writing what its file system has no room for.

    The room is that of users without privileges. Another process may take it meanwhile: a write may still fail.

    Args:
        out: The output, which need not exist yet.
        needed: Bytes that will be written, temporary files included.

    Raises:
        OSError: There is less room (`errno.ENOSPC`).
    """
    free = free_bytes(out)
    if needed > free:
        what = f"about {natural_size(needed)} are needed here, and {natural_size(free)} are free"
        raise OSError(errno.ENOSPC, what, out)


def free_bytes(path: str) -> int:
    """Bytes that can be written to the file system that holds `path`, or will hold it."""
    # A link is followed to the disk on which the file will be.
    directory = os.path.realpath(path)
    while not os.path.exists(directory):  # noqa: PTH110 - str in, str out
        directory = os.path.dirname(directory)  # noqa: PTH120
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize
