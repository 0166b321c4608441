"""What a run needs of the place where it keeps what is no dataset: its log, pointers, decisions and notes.

A name leads to bytes that are there whole or not at all, and that nobody changes: new bytes have a new name, or take
the place of the old ones at once. Only logs grow. What a call has done is still there after the machine has gone down,
but for a log, which says so by `sync`.

Parts, converted inputs and key files are written by workers to local paths, and decisions are mapped from them: what an
object store holds would be copied to such paths first. Locks (`file_lock`) are of file systems, too.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import IO, Protocol


class Store(Protocol):
    """Bytes by name; names have `/` between folders."""

    def get(self, name: str) -> bytes:
        """The bytes.

        Raises:
            FileNotFoundError: There are none of this name.
        """
        ...

    def put(self, name: str, data: bytes) -> None:
        """Keep bytes, in place of others of the name."""
        ...

    def writing(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """A file to write, which can seek; it has the name when the block ends without an error."""
        ...

    def list(self, folder: str = "") -> list[str]:
        """The names directly in a folder, without it, sorted; none if there is no such folder."""
        ...

    def delete(self, name: str) -> None:
        """Remove what has the name, and all below it, if there is something."""
        ...

    def log(self, name: str) -> "Log":
        """The log of this name, whether it has begun or not."""
        ...


class Log(Protocol):
    """Lines that are added at the end, by one process at a time; others may read them meanwhile.

    Attributes:
        name: It, for people.
    """

    name: str

    def begin(self, line: bytes) -> None:
        """Make the log, with its first line.

        Raises:
            FileExistsError: It has begun.
        """
        ...

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """The lines from a place on; the last one may be cut.

        Raises:
            FileNotFoundError: It has not begun.
        """
        ...

    def lines_at(self, places: Iterable[int]) -> Iterator[bytes]:
        """The lines that begin at some places."""
        ...

    def open(self, end: int | None = None) -> None:
        """Prepare to append; what lies beyond `end` is removed first."""
        ...

    def append(self, line: bytes) -> int:
        """Add a line, which then survives the end of this process; returns its place."""
        ...

    def sync(self) -> None:
        """Wait until all lines survive the end of the machine."""
        ...

    def size(self) -> int | None:
        """How large the log of this name is now; None: it is another one than that which was opened, or gone."""
        ...

    def close(self) -> None:
        """Append no more."""
        ...
