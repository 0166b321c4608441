"""Media in the sidecars of datasets, on disks and in object stores, as files that are read by range."""

import io
from typing import TYPE_CHECKING, Final

from jinx._dataset.stored_ranges import StoredRange
from jinx.errors import MismatchError
from jinx_pipeline.sample.content_identity import ReplacedError
from jinx_pipeline.sample.range_file import RangeFile, SeekableFile
from jinx_pipeline.store.mirror import patiently

if TYPE_CHECKING:
    from jinx import _core

# The number of bytes that one request reads from a store: decoders read 32 kB at a time, and a header is shorter than
# this.
_REMOTE_BUFFER_BYTES: Final = 1 << 18


def opened_range(medium: StoredRange) -> SeekableFile:
    """A file with the bytes of a range, without a buffer.

    Raises:
        OSError: The file cannot be opened.
    """
    if medium.opened is not None:
        return _RemoteRange(medium, *medium.opened)
    return RangeFile(medium.path, medium.offset, medium.length)


def buffered(medium: StoredRange) -> io.BufferedReader:
    """A file of the bytes of a range, which reads ahead as much as its place is worth; raises as `opened_range`."""
    size = io.DEFAULT_BUFFER_SIZE if medium.opened is None else min(_REMOTE_BUFFER_BYTES, max(medium.length, 1))
    return io.BufferedReader(opened_range(medium), size)


class _RemoteRange(SeekableFile):
    """Bytes of a sidecar in an object store, in the version that was opened, read through this node's cache."""

    def __init__(self, medium: StoredRange, rows: "_core.Rows", file: int) -> None:
        super().__init__(medium.length)
        self._medium, self._rows, self._file = medium, rows, file

    def _read_at(self, place: int, view: memoryview) -> int:
        offset = self._medium.offset + place
        try:
            data = patiently(lambda: self._rows.read_sidecar(self._file, offset, len(view)))
        except MismatchError as error:
            raise ReplacedError(self._medium.path) from error
        view[: len(data)] = data
        return len(data)
