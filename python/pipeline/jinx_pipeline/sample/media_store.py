"""Stores of the media that operators make: files that are named after their content."""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from jinx_pipeline.store.sync import sync_folder

NAME: Final = re.compile(r"\b([0-9a-f]{32})\.\w+")
"""The name of a medium in a store, wherever a value mentions it; the group is the digest of its content."""
_READ_BYTES: Final = 1 << 20


class MediaStore:
    """A directory of media, each in a file that is named after its content.

    The same medium is stored once, whoever stores it and how often. A file is complete and on disk before its address
    is known, so a row never names a medium that a crash can lose. A crash may leave a medium that no row names.

    Args:
        address: The directory. Relative: it starts at `root`, and so do the addresses of its media.
        root: The directory to which addresses are relative; None: the working directory.

    Raises:
        ValueError: The address is a URL.
    """

    def __init__(self, address: str, root: str | None = None) -> None:
        if "://" in address:
            raise ValueError(f"{address}: media are stored in a directory, not behind a URL")
        self._address = address
        self.folder = Path(address) if root is None else Path(root) / address

    def put(self, data: bytes | IO[bytes], suffix: str) -> str:
        """Store a medium; returns its address.

        Args:
            data: The medium, or a file at its beginning, which is closed.
            suffix: The suffix of its file name, with the dot.

        Raises:
            OSError: The disk is full or the directory cannot be written, which concerns all rows.
        """
        try:
            return self._put(data, suffix)
        except OSError as error:
            error.concerns_all_rows = True  # pyright: ignore[reportAttributeAccessIssue] - stops the run
            raise

    def _put(self, data: bytes | IO[bytes], suffix: str) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".", suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            try:
                name = f"{_copy(data, file)}{suffix}"
                self._publish(file, temporary, name)
            finally:
                temporary.unlink(missing_ok=True)
        return str(Path(self._address) / name[:2] / name)

    def files(self) -> Iterator[Path]:
        """All files that the store wrote, including those of writers that died."""
        for path in sorted(self.folder.glob("[0-9a-f][0-9a-f]/*")):
            if NAME.fullmatch(path.name) and path.name.startswith(path.parent.name):
                yield path
        yield from sorted(self.folder.glob(".*.part"))

    def _publish(self, file: IO[bytes], temporary: Path, name: str) -> None:
        target = self.folder / name[:2] / name
        if not target.exists():
            file.flush()
            os.fsync(file.fileno())
            target.parent.mkdir(exist_ok=True)
            temporary.replace(target)
        # Another process may have stored it just now, and not synced its name yet.
        sync_folder(target.parent)
        sync_folder(self.folder)


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
