"""A store in an object store, with a mirror of what this node uses."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from jinx_pipeline.store.local_store import LocalStore, published
from jinx_pipeline.store.mirror import names_below, object_store, patiently, remove_local, url_of
from jinx_pipeline.store.object_log import ObjectLog
from jinx_pipeline.store.store import Log, Store


class MirrorStore:
    """A store (see `store.Store`) at the URL for which a path in the mirror stands.

    Args:
        path: The path.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._url = str(url_of(path))

    def get(self, name: str) -> bytes:
        """See `Store.get`."""
        return patiently(lambda: object_store().get(self._url_of(name)).data)

    def put(self, name: str, data: bytes) -> None:
        """See `Store.put`."""
        patiently(lambda: object_store().put(self._url_of(name), data))

    @contextmanager
    def writing(self, name: str) -> Generator[IO[bytes]]:
        """See `Store.writing`."""
        with published(self._path / name) as file:
            yield file

    def list(self, folder: str = "") -> list[str]:
        """See `Store.list`."""
        url = self._url_of(folder)
        return names_below(url, patiently(lambda: object_store().list(url, recursive=False)))

    def delete(self, name: str) -> None:
        """See `Store.delete`."""
        url = self._url_of(name)
        remove_local(self._path / name)
        names = [info.url for info in patiently(lambda: object_store().list(url))] or [url]
        patiently(lambda: object_store().delete(*names))

    def log(self, name: str) -> Log:
        """See `Store.log`."""
        return ObjectLog(self._url_of(name))

    def _url_of(self, name: str) -> str:
        return f"{self._url}/{name}" if name else self._url


def store_at(path: Path) -> Store:
    """The store in a directory, or at the URL for which the directory stands."""
    return LocalStore(path) if url_of(path) is None else MirrorStore(path)
