"""A store in a directory of a local or network file system."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from jinx_pipeline.store.local_log import LocalLog
from jinx_pipeline.store.mirror import push, writable
from jinx_pipeline.store.sync import sync_folder


class LocalStore:
    """A store (see `store.Store`) in a directory.

    Args:
        path: The directory; it and the parent directories of new names must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, name: str) -> bytes:
        """See `Store.get`."""
        return (self._path / name).read_bytes()

    def put(self, name: str, data: bytes) -> None:
        """See `Store.put`."""
        with self.writing(name) as file:
            file.write(data)

    @contextmanager
    def writing(self, name: str) -> Generator[IO[bytes]]:
        """See `Store.writing`."""
        with published(self._path / name) as file:
            yield file

    def list(self, folder: str = "") -> list[str]:
        """See `Store.list`."""
        try:
            return sorted(os.listdir(self._path / folder))  # noqa: PTH208 - returns names, not paths
        except FileNotFoundError:
            return []

    def delete(self, name: str) -> None:
        """See `Store.delete`."""
        path = self._path / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
            return
        with suppress(FileNotFoundError):
            path.unlink()

    def log(self, name: str) -> LocalLog:
        """See `Store.log`."""
        return LocalLog(self._path / name)


@contextmanager
def published(path: Path, *, syncs_folder: bool = True) -> Generator[IO[bytes]]:
    """A file to write, which appears atomically and survives a power failure; in the mirror, it is stored as an object.

    Args:
        path: The file.
        syncs_folder: Whether to sync the directory; if not, the caller syncs it later or publishes another file in it.
    """
    temporary = writable(path).with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    if syncs_folder:
        sync_folder(path.parent)
    push(path)
