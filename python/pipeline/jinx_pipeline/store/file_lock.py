"""File locks for working directories and outputs, so that two runs never write the same one."""

import fcntl
import itertools
import os
import time
from pathlib import Path
from typing import IO, Self

# If a process is killed while it starts a child, the child keeps its lock for a moment. Attempts are counted, not
# seconds: on a machine that stood still, the child has had no time either.
_ATTEMPTS, _RETRY_SECONDS = 25, 0.02


class FileLock:
    """A lock that this process holds on a file, until it is closed or the process ends.

    Args:
        path: The file; it is created if it does not exist.
        text: The content of the file, for users and for the error of other processes.

    Raises:
        LockedError: Another process holds it.
    """

    def __init__(self, path: Path, text: str = "") -> None:
        self.path = path
        for attempt in itertools.count(1):
            file = path.open("a+b")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if attempt < _ATTEMPTS:
                    file.close()
                    time.sleep(_RETRY_SECONDS)
                    continue
                file.seek(0)
                content = file.read().decode(errors="replace")
                file.close()
                raise LockedError(content) from None
            if _leads_to(path, file):
                file.truncate(0)
                file.write(text.encode(errors="backslashreplace"))
                file.flush()
                self._file = file
                return
            # The previous holder has removed the file, so a new process would create and lock another one.
            file.close()

    def close(self) -> None:
        """Release the lock; the file stays."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # The lock is still held, so this cannot remove another process's file.
        self.path.unlink(missing_ok=True)
        self.close()


class LockedError(RuntimeError):
    """Raised when another process holds the lock; the message is the content of the file."""


def _leads_to(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
