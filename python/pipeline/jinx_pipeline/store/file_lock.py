"""Locks on files: of a working directory, and of an output, so that two runs never write the same one."""

import fcntl
import os
import time
from pathlib import Path
from typing import IO, Self

# The lock of a process that was killed while it started another one stays with that one for a moment.
_PATIENCE_SECONDS, _TRY_AGAIN_SECONDS = 0.5, 0.02


class FileLock:
    """A lock that this process holds on a file, until it is closed or the process ends.

    Args:
        path: The file; it is made if need be.
        text: What it says to people, and to those that are refused.

    Raises:
        LockedError: Another process holds it.
    """

    def __init__(self, path: Path, text: str = "") -> None:
        self.path = path
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            file = path.open("a+b")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:
                    file.close()
                    time.sleep(_TRY_AGAIN_SECONDS)
                    continue
                file.seek(0)
                said = file.read().decode(errors="replace")
                file.close()
                raise LockedError(said) from None
            if _leads_to(path, file):
                break
            # Whoever held it has removed the file meanwhile, and the next process makes another one.
            file.close()
        file.truncate(0)
        file.write(text.encode(errors="backslashreplace"))
        file.flush()
        self._file = file

    def close(self) -> None:
        """Release it; the file stays."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Under the lock: nobody else's file is removed.
        self.path.unlink(missing_ok=True)
        self.close()


class LockedError(RuntimeError):
    """Another process holds the lock; the message is what it has written into the file."""


def _leads_to(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
