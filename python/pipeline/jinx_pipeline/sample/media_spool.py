"""Keeps the media that the operators of a task make on disk, until they are written to the output."""

import sys
import tempfile
from pathlib import Path
from typing import IO, Final

from jinx._dataset.stored_ranges import StoredRange

_HELD_BYTES: Final = 4096
"""Media of at most this many bytes stay in memory."""
_READ_BYTES: Final = 1 << 20
_DESCRIPTORS: Final = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"


class MediaSpool:
    """Media in an unnamed file, which disappears with this process, however it ends.

    Args:
        folder: The directory of the file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None

    def put(self, data: bytes | IO[bytes]) -> bytes | StoredRange:
        """Keep a medium until `close`. Returns its location; a small medium is returned itself.

        Args:
            data: The medium, or a file at its beginning, which is closed.

        Raises:
            OSError: The disk is full, which concerns all rows.
        """
        if isinstance(data, bytes):
            return data if len(data) <= _HELD_BYTES else self._put([data])
        with data:
            start = data.read(_HELD_BYTES + 1)
            if len(start) <= _HELD_BYTES:
                return start
            return self._put([start], data)

    def close(self) -> None:
        """Drop all media."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _put(self, chunks: list[bytes], rest: IO[bytes] | None = None) -> StoredRange:
        try:
            if self._file is None:
                # Unbuffered: readers open the file by its descriptor.
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - closed by `close`
            offset, length = self._file.seek(0, 2), 0
            while chunks:
                chunk = memoryview(chunks.pop())
                length += len(chunk)
                while chunk:
                    chunk = chunk[self._file.write(chunk) :]
                if rest is not None and (more := rest.read(_READ_BYTES)):
                    chunks.append(more)
        except OSError as error:
            error.concerns_all_rows = True  # pyright: ignore[reportAttributeAccessIssue] - stops the run
            raise
        return StoredRange(f"{_DESCRIPTORS}/{self._file.fileno()}", offset, length)
