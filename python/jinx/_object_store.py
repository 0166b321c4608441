"""Single objects in stores, by their URLs, for programs that keep their own state there."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from jinx import _core
from jinx._urls import storage_options


class ObjectInfo(NamedTuple):
    """The state of an object.

    Attributes:
        url: Its URL; that of a directory ends with `/`.
        size: Bytes.
        tag: Identifies this state, for `ObjectStore.put_if_match`; in lists, it can only be compared with those of
            other lists.
        modified: Seconds since 1970, by the clock of the store.
    """

    url: str
    size: int
    tag: str
    modified: float


class StoredObject(NamedTuple):
    """The bytes of an object, and the tag of this version."""

    data: bytes
    tag: str


class ObjectStore:
    """Reads and writes objects by their URLs: `s3://`, `gs://`, `az://`; `https://` is only read.

    An object appears when all of its bytes have arrived. Methods wait without the GIL, may be called by any thread, and
    go on after a fork.

    Args:
        storage: The options of stores, as `jinx.open` takes them.
    """

    def __init__(self, storage: Mapping[str, str | bool | int | float] | None = None) -> None:
        self._options = storage_options(storage, cache=False, cache_size=None)
        self._core = _core.ObjectStore(self._options)

    def __reduce__(self) -> tuple[Any, ...]:
        options = {name: value for name, value in self._options.items() if name != "cache"}
        return type(self), (options,)

    def head(self, url: str) -> ObjectInfo:
        """The state of an object.

        Raises:
            FileNotFoundError: There is none.
        """
        return ObjectInfo(*self._core.head(url))

    def exists(self, url: str) -> bool:
        """Whether there is an object."""
        try:
            self.head(url)
        except FileNotFoundError:
            return False
        return True

    def get(self, url: str) -> StoredObject:
        """The bytes of an object, and its tag.

        Raises:
            FileNotFoundError: There is none.
        """
        return StoredObject(*self._core.get(url))

    def get_range(self, url: str, start: int, end: int, *, tag: str | None = None) -> bytes:
        """The bytes of an object from `start` to `end`.

        Args:
            url: The object.
            start: The first byte.
            end: The byte after the last one; it must not lie after the end of the object.
            tag: The state that they must belong to.

        Raises:
            FileNotFoundError: There is no object.
            MismatchError: The object has another tag now.
        """
        return self._core.get(url, (start, end), tag)[0]

    def put(self, url: str, data: bytes) -> str:
        """Write an object, or replace it; returns its new tag."""
        return self._core.put(url, data)

    def put_if_absent(self, url: str, data: bytes) -> str:
        """Write an object if there is none at the URL; returns its tag.

        Of several calls at the same time, one succeeds. An answer that is lost on the way does not change this: each
        call marks what it writes, and recognizes its mark.

        Raises:
            FileExistsError: Another call has written the object.
        """
        return self._core.put(url, data, absent=True)

    def put_if_match(self, url: str, data: bytes, tag: str) -> str:
        """Replace an object if it is still in a known state; returns its new tag.

        Raises:
            MismatchError: The object has another tag now, or is gone.
        """
        return self._core.put(url, data, expected=tag)

    def put_file(self, url: str, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write a file of this machine as an object, in parts if it is long.

        Raises:
            FileExistsError: There is an object, and `replace` is False. For files of more than 8 MiB, this is looked at
                before the first and before the last part.
        """
        self._core.put_file(url, path, replace)

    def get_file(self, url: str, path: str | os.PathLike[str]) -> None:
        """Copy an object to a new file of this machine.

        Raises:
            FileNotFoundError: There is no object.
            FileExistsError: There is a file.
        """
        self._core.get_file(url, path)

    def list(self, url: str, *, recursive: bool = True) -> list[ObjectInfo]:
        """The objects below a URL, sorted by their URLs.

        Args:
            url: A directory: the URLs of its objects go on with a `/`.
            recursive: List the objects of directories below it too; False lists these directories themselves, with a
                `/` at the end.
        """
        return [ObjectInfo(*found) for found in self._core.list(url, recursive)]

    def delete(self, *urls: str) -> None:
        """Remove objects of one store; objects that do not exist are ignored."""
        self._core.delete(list(urls))
