"""A log in an object store: a sequence of objects, each with lines of one `sync`."""

import os
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Final

from jinx._malloc import give_freed_memory_back
from jinx_pipeline.store.mirror import object_store, patiently

_THREADS: Final = 16
# The objects of a log are read concurrently, up to this many bytes in total, which bounds the driver's memory.
_AHEAD_BYTES: Final = 16_000_000
# Lines are read from the copy in pieces of this size.
_CHUNK_BYTES: Final = 1 << 20
# An object has at most this many bytes, unless a single line has more: it is in memory while it is written or read.
_OBJECT_BYTES: Final = 4_000_000
# How long a known size of the log stays valid; `sync` always notices the lines of other processes.
_SIZE_SECONDS: Final = 10.0


class ObjectLog:
    """A log (see `store.Log`) in a store.

    Object n is written only if there is none yet, so two processes never have written the same place of the log: the
    second of two that append is refused, however late its request arrives. An object is complete or absent, so no line
    is ever torn.

    Args:
        url: The URL, a prefix of those of the objects.
    """

    def __init__(self, url: str) -> None:
        self.name = url
        # Each `sync` creates an object, and a resumed run reads all objects.
        self.sync_seconds = 2.0
        # A local copy of the objects that this process knows; all reads use it.
        self._copy: IO[bytes] | None = None
        self._objects = self._end = 0
        self._unwritten = bytearray()
        self._seen_at = -_SIZE_SECONDS

    def begin(self, line: bytes) -> None:
        """See `Log.begin`."""
        self._put(0, line)

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """See `Log.lines`."""
        self._refresh()
        if not self._objects:
            raise FileNotFoundError(f"{self.name}: there is no such log")
        rest = b""
        while start < self._end:
            data = os.pread(self._file().fileno(), min(_CHUNK_BYTES, self._end - start), start)
            start += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield line + b"\n"
        if rest:
            yield rest

    def lines_at(self, places: Iterable[int]) -> Iterator[bytes]:
        """See `Log.lines_at`."""
        if not self._objects:
            self._refresh()
        file = self._file()
        for place in places:
            file.seek(place)
            yield file.readline()

    def open(self, end: int | None = None) -> None:
        """See `Log.open`; there are no incomplete lines, so nothing is truncated."""
        if end is not None:
            raise ValueError(f"{self.name}: a line is damaged")
        self._unwritten.clear()

    def append(self, line: bytes) -> int:
        """See `Log.append`; the line is lost if this process ends before `sync`."""
        place = self._end + len(self._unwritten)
        self._unwritten += line
        return place

    def sync(self) -> None:
        """See `Log.sync`.

        Raises:
            FileExistsError: Another process has appended meanwhile; the remaining lines of this one are not in the log.
        """
        while self._unwritten:
            end = self._unwritten.rfind(b"\n", 0, _OBJECT_BYTES) + 1 or self._unwritten.find(b"\n") + 1
            end = end or len(self._unwritten)
            with memoryview(self._unwritten) as lines:
                data = bytes(lines[:end])
            self._put(self._objects, data)
            del self._unwritten[:end]
            self._keep(data)
            self._seen_at = time.monotonic()

    def size(self) -> int | None:
        """See `Log.size`. A size read in the last seconds is used again, so a removed log may still seem to exist."""
        if time.monotonic() - self._seen_at >= _SIZE_SECONDS:
            self._refresh()
        return self._end + len(self._unwritten) if self._objects else None

    def close(self) -> None:
        """See `Log.close`."""
        self._unwritten.clear()
        if self._copy is not None:
            self._copy.close()
            self._copy, self._objects, self._end = None, 0, 0

    def _refresh(self) -> None:
        """Read the objects that were added since the last call."""
        if not self._objects:
            listed = patiently(lambda: object_store().list(self.name))
            for data in self._read_ahead([info.size for info in listed]):
                if data is None:
                    raise OSError(f"{self._url(self._objects)} is gone")
                self._keep(data)
            # The threads that read keep freed memory, which can be as much as the records of the log need.
            give_freed_memory_back()
        # A listing may be out of date, so look for later objects.
        while (data := self._get(self._objects)) is not None:
            self._keep(data)
        self._seen_at = time.monotonic()

    def _read_ahead(self, sizes: Sequence[int]) -> Iterator[bytes | None]:
        """The first objects, with these sizes; several are read concurrently."""
        reads: deque[Future[bytes | None]] = deque()
        first = ahead = 0
        with ThreadPoolExecutor(_THREADS) as threads:
            for number, size in enumerate(sizes):
                while reads and ahead + size > _AHEAD_BYTES:
                    yield reads.popleft().result()
                    ahead -= sizes[first]
                    first += 1
                reads.append(threads.submit(self._get, number))
                ahead += size
            while reads:
                yield reads.popleft().result()

    def _get(self, number: int) -> bytes | None:
        try:
            return patiently(lambda: object_store().get(self._url(number)).data)
        except FileNotFoundError:
            return None

    def _put(self, number: int, data: bytes) -> None:
        try:
            patiently(lambda: object_store().put_if_absent(self._url(number), data))
        except FileExistsError:
            # The call may have succeeded although it failed here: then the stored object is our own. No other process
            # writes the same bytes, because each line contains the epoch.
            if self._get(number) != data:
                raise

    def _keep(self, data: bytes) -> None:
        file = self._file()
        file.seek(self._end)
        file.write(data)
        file.flush()
        self._end += len(data)
        self._objects += 1

    def _file(self) -> IO[bytes]:
        if self._copy is None:
            self._copy = tempfile.TemporaryFile(prefix="jinx-pipeline-")  # noqa: SIM115 - open as long as this object
        return self._copy

    def _url(self, number: int) -> str:
        return f"{self.name}/{number:010}"
