"""A log in a file of a local or network file system."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO


class LocalLog:
    """A log (see `store.Log`) in a file.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.sync_seconds = 0.1
        self._path = path
        self._file: IO[bytes] | None = None

    def begin(self, line: bytes) -> None:
        """See `Log.begin`."""
        with self._path.open("xb") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """See `Log.lines`."""
        with self._path.open("rb") as file:
            file.seek(start)
            yield from file

    def lines_at(self, places: Iterable[int]) -> Iterator[bytes]:
        """See `Log.lines_at`."""
        with self._path.open("rb") as file:
            for place in places:
                file.seek(place)
                yield file.readline()

    def open(self, end: int | None = None) -> None:
        """See `Log.open`."""
        self.close()
        self._file = self._path.open("ab")
        if end is not None:
            self._file.truncate(end)

    def append(self, line: bytes) -> int:
        """See `Log.append`."""
        file = self._opened()
        file.write(line)
        file.flush()
        return file.tell() - len(line)

    def sync(self) -> None:
        """See `Log.sync`."""
        os.fdatasync(self._opened().fileno())

    def size(self) -> int | None:
        """See `Log.size`."""
        own = os.fstat(self._opened().fileno())
        try:
            # On a network disk, only a newly opened file has the current size.
            with self._path.open("rb") as file:
                current = os.fstat(file.fileno())
        except FileNotFoundError:
            return None
        return current.st_size if os.path.samestat(own, current) else None

    def close(self) -> None:
        """See `Log.close`."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            raise RuntimeError(f"{self.name} is not open")
        return self._file
