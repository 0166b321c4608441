"""Presents a part of a file as a separate file object, from which decoders read what they need."""

import io
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class RangeFile(io.RawIOBase):
    """Some bytes of a file, readable and seekable; nothing is kept in memory.

    Args:
        path: The file.
        offset: Where the bytes begin.
        length: Their number.

    Raises:
        OSError: The file cannot be opened.
    """

    def __init__(self, path: str, offset: int, length: int) -> None:
        super().__init__()
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._offset, self._length, self._place = offset, length, 0

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
            # preadv writes into the buffer, so that large reads are not copied.
            count = os.preadv(self._file, [view[:wanted]], self._offset + self._place) if wanted else 0
        self._place += count
        return count

    def close(self) -> None:
        if not self.closed:
            os.close(self._file)
        super().close()
