"""Media in object stores: files that read them by range, and their states."""

import io
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from jinx.errors import MismatchError
from jinx_pipeline.store.mirror import object_store, patiently

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from jinx._object_store import ObjectInfo, StoredObject

T = TypeVar("T")

_BUFFER_BYTES: Final = 1 << 18
"""What one request reads: decoders ask for 32 kB at a time, and a header has less than this."""


# The code of S3 for an object that these credentials may not read, and for a missing one where they may not list.
_DENIED: Final = "AccessDenied"


class UnstoredError(OSError):
    """Raised when an object is not there, may not be read, or was replaced while it was read: a fault of one row."""


def info_of(url: str) -> "ObjectInfo":
    """The state of an object, without its bytes.

    Raises:
        UnstoredError: There is no such object, or it may not be read.
        StoreError: The store fails, which concerns all rows.
    """

    def head() -> "ObjectInfo":
        try:
            return object_store().head(url)
        except PermissionError:
            object_store().get_range(url, 0, 1)  # the answer to a HEAD does not say why
            raise

    return _read(url, head)


def object_at(url: str) -> "StoredObject":
    """The bytes of an object and the tag of its state; raises the errors of `info_of`."""
    return _read(url, lambda: object_store().get(url))


def opened_object(info: "ObjectInfo") -> io.BufferedReader:
    """A seekable file object that reads parts of an object as they are asked for; raises the errors of `info_of`."""
    return io.BufferedReader(_ObjectFile(info), min(_BUFFER_BYTES, max(info.size, 1)))


class _ObjectFile(io.RawIOBase):
    """An object in one state, readable and seekable."""

    def __init__(self, info: "ObjectInfo") -> None:
        super().__init__()
        self._info, self._place = info, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._info.size}[whence]
        if start + offset < 0:
            raise ValueError(f"seek to {start + offset}, before the beginning")
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        url, _, tag, _ = self._info
        with memoryview(buffer).cast("B") as view:
            end = min(self._place + len(view), self._info.size)
            if end <= self._place:
                return 0
            data = _read(url, lambda: object_store().get_range(url, self._place, end, tag=tag))
            view[: len(data)] = data
        self._place += len(data)
        return len(data)


def _read(url: str, call: Callable[[], T]) -> T:
    def of_row() -> T | UnstoredError:
        try:
            return call()
        except FileNotFoundError:
            return UnstoredError(f"{url}: there is no such object")
        except PermissionError as error:
            if _DENIED not in str(error):
                raise  # credentials that have expired concern all rows, and may be renewed
            return UnstoredError(f"{url}: the store does not allow this object to be read")
        except MismatchError:
            return UnstoredError(f"{url}: the object was replaced while it was read")

    found = patiently(of_row)
    if isinstance(found, UnstoredError):
        raise found
    return found
