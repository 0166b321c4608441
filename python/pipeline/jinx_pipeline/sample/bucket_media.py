"""Media in object stores: files that read them by range, and their states."""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from jinx.errors import MismatchError
from jinx_pipeline.sample.range_file import SeekableFile
from jinx_pipeline.store.mirror import ObjectError, object_store, patiently

if TYPE_CHECKING:
    from jinx._object_store import ObjectInfo, StoredObject

T = TypeVar("T")

# The number of bytes that one request reads: decoders read 32 kB at a time, and a header is shorter than this.
_BUFFER_BYTES: Final = 1 << 18
# S3's code for an object that these credentials may not read, and for a missing object in a bucket that they may not
# list.
_DENIED: Final = "AccessDenied"


def info_of(url: str) -> "ObjectInfo":
    """The state of an object, without its bytes.

    Raises:
        ObjectError: There is no such object, or it may not be read.
        StoreError: The store fails, which concerns all rows.
    """

    def head() -> "ObjectInfo":
        try:
            return object_store().head(url)
        except PermissionError:
            object_store().get_range(url, 0, 1)  # the answer to a HEAD request has no reason
            raise

    return _read(url, head)


def object_at(url: str) -> "StoredObject":
    """The bytes of an object and the tag of its version; raises the same errors as `info_of`."""
    return _read(url, lambda: object_store().get(url))


def opened_object(info: "ObjectInfo") -> io.BufferedReader:
    """A seekable file object that reads parts of an object as they are asked for; raises the errors of `info_of`."""
    return io.BufferedReader(_ObjectFile(info), min(_BUFFER_BYTES, max(info.size, 1)))


class _ObjectFile(SeekableFile):
    """An object in one version."""

    def __init__(self, info: "ObjectInfo") -> None:
        super().__init__(info.size)
        self._info = info

    def _read_at(self, place: int, view: memoryview) -> int:
        url, _, tag, _ = self._info
        data = _read(url, lambda: object_store().get_range(url, place, place + len(view), tag=tag))
        view[: len(data)] = data
        return len(data)


def _read(url: str, call: Callable[[], T]) -> T:
    """The result of a call to the store; raises the same errors as `info_of`, also if the object was replaced."""

    def of_object() -> T:
        try:
            return call()
        except FileNotFoundError:
            raise ObjectError(f"{url}: there is no such object") from None
        except PermissionError as error:
            if _DENIED not in str(error):
                raise  # expired credentials concern all rows, and may be renewed
            raise ObjectError(f"{url}: the store does not allow this object to be read") from None
        except MismatchError:
            raise ObjectError(f"{url}: the object was replaced while it was read") from None

    return patiently(of_object)
