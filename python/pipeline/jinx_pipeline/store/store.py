"""The storage interface for everything in a run except datasets: its log, pointers, decisions and notes.

The bytes of a name appear atomically and never change in place: new bytes have a new name, or replace the old ones
atomically. Only logs grow. When a call returns, its result survives a crash of the machine; logs need `sync` for that.

Workers write parts, converted inputs and key files to local paths, and decisions are memory-mapped from such paths;
those of an object store are in the mirror of the node (`mirror`). `lease` has locks for object stores.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import IO, Protocol


class Store(Protocol):
    """Bytes by name; names have `/` between folders."""

    def get(self, name: str) -> bytes:
        """The bytes stored under a name.

        Raises:
            FileNotFoundError: The name does not exist.
        """
        ...

    def put(self, name: str, data: bytes) -> None:
        """Store bytes under a name, replacing earlier ones."""
        ...

    def writing(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """A seekable file to write, which gets its name when the block ends without an error."""
        ...

    def list(self, folder: str = "") -> list[str]:
        """The sorted names directly in a folder, without the folder; empty if it does not exist."""
        ...

    def delete(self, name: str) -> None:
        """Remove a name and everything below it, if it exists."""
        ...

    def log(self, name: str) -> "Log":
        """The log with this name, even if it has not begun."""
        ...


class Log(Protocol):
    """Lines that one process at a time appends; other processes may read them meanwhile.

    Attributes:
        name: The name of the log for messages.
        sync_seconds: How long lines are collected for a `sync` that nothing waits for.
    """

    name: str
    sync_seconds: float

    def begin(self, line: bytes) -> None:
        """Create the log with its first line; on a disk, the caller syncs the directory.

        Raises:
            FileExistsError: The log exists.
        """
        ...

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """The lines from an offset on; the last one may be incomplete.

        Raises:
            FileNotFoundError: The log does not exist.
        """
        ...

    def lines_at(self, places: Iterable[int]) -> Iterator[bytes]:
        """The lines that begin at the given offsets."""
        ...

    def open(self, end: int | None = None) -> None:
        """Prepare to append; the log is truncated to `end` first, if given."""
        ...

    def append(self, line: bytes) -> int:
        """Append a line, which survives a crash of this process (except in an object store); returns its offset."""
        ...

    def sync(self) -> None:
        """Wait until all lines survive a crash of the machine.

        Raises:
            FileExistsError: In an object store, another process has appended meanwhile, and these lines are lost.
        """
        ...

    def size(self) -> int | None:
        """The current size of the log; None if it is gone, or another file has its name."""
        ...

    def close(self) -> None:
        """Close the log for appending."""
        ...
