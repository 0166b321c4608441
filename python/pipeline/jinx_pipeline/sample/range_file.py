"""Presents bytes stored elsewhere as a file object, from which decoders read what they need."""

import io
import os
from abc import abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class SeekableFile(io.RawIOBase):
    """A known number of bytes, readable and seekable; nothing is kept in memory.

    Args:
        length: The number of bytes.
    """

    def __init__(self, length: int) -> None:
        super().__init__()
        self._length, self._place = length, 0

    @abstractmethod
    def _read_at(self, place: int, view: memoryview) -> int:
        """Fill a view, which is not empty and ends within the bytes, from a position; returns how many were read."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._length}[whence]
        if start + offset < 0:
            raise ValueError(f"seek to {start + offset}, before the beginning")
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        with memoryview(buffer).cast("B") as view:
            wanted = max(0, min(len(view), self._length - self._place))
            count = self._read_at(self._place, view[:wanted]) if wanted else 0
        self._place += count
        return count


class RangeFile(SeekableFile):
    """A range of bytes in a file.

    Args:
        path: The file.
        offset: Where the bytes begin.
        length: Their number.

    Raises:
        OSError: The file cannot be opened.
    """

    def __init__(self, path: str, offset: int, length: int) -> None:
        super().__init__(length)
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._offset = offset

    def _read_at(self, place: int, view: memoryview) -> int:
        # preadv writes directly into the buffer, so that large reads are not copied.
        return os.preadv(self._file, [view], self._offset + place)

    def close(self) -> None:
        if not self.closed:
            os.close(self._file)
        super().close()
