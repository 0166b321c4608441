"""Stores of the media that operators make: files or objects that are named after their content."""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol

from jinx._urls import is_url
from jinx_pipeline.store.mirror import is_remote, object_store, patiently
from jinx_pipeline.store.sync import sync_folder

NAME: Final = re.compile(r"\b([0-9a-f]{32})\.\w+")
"""The name of a medium in a store, wherever a value mentions it; the group is the digest of its content."""
_READ_BYTES: Final = 1 << 20


class StoredMedium(NamedTuple):
    """A file or object in a store.

    Attributes:
        path: Its path or URL.
        size: Bytes.
        modified: When it was written, in seconds since 1970, by the clock of the disk or store.
    """

    path: str
    size: int
    modified: float


class MediaStore:
    """A directory of media, on a disk or in a bucket, each named after its content.

    The same medium is stored only once, no matter who stores it and how often. It is complete and on disk before its
    address is known, so a row never names a medium that a crash can lose. A crash may leave a medium that no row names.

    Args:
        address: The directory or its URL. Relative: it starts at `root`, and so do the addresses of its media.
        root: The directory or URL to which addresses are relative; None: the working directory.

    Attributes:
        place: The whole path or URL of the directory.

    Raises:
        ValueError: The address is a URL of something that is not written to.
    """

    def __init__(self, address: str, root: str | None = None) -> None:
        self._address = address.rstrip("/") if is_url(address) else str(Path(address))
        is_whole = is_url(address) or Path(address).is_absolute()
        place = address if root is None or is_whole else f"{root.rstrip('/')}/{address}"
        if is_url(place) and not is_remote(place):
            raise ValueError(f"{place}: media are stored in a directory, or below s3://, gs:// or az://")
        self._media: _Media = _Objects(place.rstrip("/")) if is_remote(place) else _Files(Path(place))
        self.place = place.rstrip("/") if is_remote(place) else str(Path(place).absolute())

    def put(self, data: bytes | IO[bytes], suffix: str) -> str:
        """Store a medium; returns its address.

        Args:
            data: The medium, or a file at its beginning, which is closed.
            suffix: The suffix of its file name, with the dot.

        Raises:
            OSError: The disk is full, the directory cannot be written or the store fails, which concerns all rows.
        """
        try:
            name = self._media.put(data, suffix)
        except OSError as error:
            error.concerns_all_rows = True  # pyright: ignore[reportAttributeAccessIssue] - stops the run
            raise
        own = f"{name[:2]}/{name}"
        return f"{self._address}/{own}" if is_url(self._address) else str(Path(self._address) / own)

    def media(self) -> Iterator[StoredMedium]:
        """All media that the store contains, including those of writers that died."""
        return self._media.all()

    def remove(self, medium: StoredMedium) -> None:
        """Remove a medium."""
        self._media.remove(medium.path)


class _Media(Protocol):
    """Media on a disk or in a bucket."""

    def put(self, data: bytes | IO[bytes], suffix: str) -> str:
        """Store a medium; returns its name."""
        ...

    def all(self) -> Iterator[StoredMedium]:
        """All media that were written."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file or object."""
        ...


class _Files:
    """A directory on a disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes | IO[bytes], suffix: str) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix=".", suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            try:
                name = f"{_copy(data, file)}{suffix}"
                self._publish(file, temporary, name)
            finally:
                temporary.unlink(missing_ok=True)
        return name

    def _publish(self, file: IO[bytes], temporary: Path, name: str) -> None:
        target = self._folder / name[:2] / name
        if not target.exists():
            file.flush()
            os.fsync(file.fileno())
            target.parent.mkdir(exist_ok=True)
            temporary.replace(target)
        # Another process may have stored the file just now, without syncing its name yet.
        sync_folder(target.parent)
        sync_folder(self._folder)

    def all(self) -> Iterator[StoredMedium]:
        named = (path for path in sorted(self._folder.glob("[0-9a-f][0-9a-f]/*")) if _is_ours(str(path)))
        for path in (*named, *sorted(self._folder.glob(".*.part"))):
            status = path.stat()
            yield StoredMedium(str(path), status.st_size, status.st_mtime)

    def remove(self, path: str) -> None:
        Path(path).unlink()


class _Objects:
    """A directory in a bucket."""

    def __init__(self, url: str) -> None:
        self._url = url

    def put(self, data: bytes | IO[bytes], suffix: str) -> str:
        with tempfile.NamedTemporaryFile(prefix="jinx-pipeline-") as file:
            name = f"{_copy(data, file)}{suffix}"
            file.flush()
            url = f"{self._url}/{name[:2]}/{name}"
            if not patiently(lambda: object_store().exists(url)):
                patiently(lambda: object_store().put_file(url, file.name))
        return name

    def all(self) -> Iterator[StoredMedium]:
        for info in patiently(lambda: object_store().list(self._url)):
            if _is_ours(info.url):
                yield StoredMedium(info.url, info.size, info.modified)

    def remove(self, path: str) -> None:
        patiently(lambda: object_store().delete(path))


def _is_ours(path: str) -> bool:
    """Whether the name of a file or object was given by a store."""
    folder, _, name = path.rpartition("/")
    return NAME.fullmatch(name) is not None and folder.rpartition("/")[2] == name[:2]


def _copy(data: bytes | IO[bytes], file: IO[bytes]) -> str:
    """Copy a medium to a file; returns the digest of its content."""
    digest = hashlib.blake2b(digest_size=16)
    if isinstance(data, bytes):
        digest.update(data)
        file.write(data)
        return digest.hexdigest()
    with data:
        while chunk := data.read(_READ_BYTES):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()
