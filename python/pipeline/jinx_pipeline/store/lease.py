"""Locks in object stores, so that two runs never write to the same working directory or output."""

import json
import math
import secrets
import socket
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

import psutil

from jinx.errors import MismatchError
from jinx_pipeline.store.file_lock import FileLock, LockedError
from jinx_pipeline.store.mirror import object_store, patiently, url_of

# A holder rewrites its lock once per first interval. If a lock does not change for the second interval, its holder is
# dead.
_BEAT_SECONDS: Final = 5.0
_DEAD_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True)
class _Holder:
    """The content of a lock.

    Attributes:
        token: A different one for each holder.
        host: Its machine, in this boot.
        pid: Its process.
        started: When the process was started: numbers of processes are used again.
        beat: A number that grows.
        text: See `Lease`.
    """

    token: str
    host: str
    pid: int
    started: float
    beat: int
    text: str


class Lease:
    """A lock that this process holds on an object, until it is closed or the process ends.

    Two machines share no clock, so a process that finds a lock watches it: its holder writes it again every 5 seconds,
    and a holder that has not done so for 30 seconds counts as dead. If the holder is on this machine, its process is
    checked at once. A holder that was stopped for longer than 30 seconds has lost its lock without knowing it; the log
    of a run then refuses its records.

    Args:
        url: The object.
        text: For the error of other processes.

    Raises:
        LockedError: Another process holds it.
        OSError: The store has no conditional writes, or fails.
    """

    def __init__(self, url: str, text: str = "") -> None:
        self._url = url
        process = psutil.Process()
        self._holder = _Holder(secrets.token_hex(8), _host(), process.pid, process.create_time(), 0, text)
        self._tag = self._acquired()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Release the lock, and remove the object."""
        self._ended.set()
        self._thread.join()
        with suppress(OSError, MismatchError):
            if object_store().head(self._url).tag == self._tag:
                object_store().delete(self._url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _acquired(self) -> str:
        """The tag of the object, once this process holds the lock."""
        while True:
            with suppress(FileExistsError):
                tag = patiently(lambda: object_store().put_if_absent(self._url, self._data()))
                self._refuse_unconditional()
                return tag
            with suppress(FileNotFoundError, MismatchError):
                own = self._own_tag()
                if own is not None:
                    return own
                found = self._watched()
                return patiently(lambda found=found: object_store().put_if_match(self._url, self._data(), found))

    def _own_tag(self) -> str | None:
        """The tag of the object if this process has written it, even in a call that seemed to fail."""
        found = patiently(lambda: object_store().get(self._url))
        return found.tag if json.loads(found.data)["token"] == self._holder.token else None

    def _watched(self) -> str:
        """The tag of a lock, after waiting to see that its holder is dead.

        Raises:
            LockedError: It lives.
            FileNotFoundError: It has released the lock.
        """
        first = patiently(lambda: object_store().get(self._url))
        holder = _Holder(**json.loads(first.data))
        # Looks are counted, not seconds: if this process was stopped, its holder may have been, too.
        for _ in range(0 if _is_dead(holder) else math.ceil(_DEAD_SECONDS / _LOOK_SECONDS)):
            if holder.host == _host() or patiently(lambda: object_store().get(self._url)).tag != first.tag:
                raise LockedError(holder.text)
            time.sleep(_LOOK_SECONDS)
        return first.tag

    def _refuse_unconditional(self) -> None:
        """Refuse a store that ignores conditions: two drivers could write the same output.

        Raises:
            OSError: It does.
        """
        with suppress(FileExistsError):
            patiently(lambda: object_store().put_if_absent(self._url, self._data()))
            object_store().delete(self._url)
            raise OSError(
                f"{self._url}: this store does not support conditional writes (If-None-Match), which keep two runs "
                "apart; use another one, or a work_dir on a disk that all nodes see"
            )

    def _beat(self) -> None:
        """Rewrite the lock regularly; stop when another process has taken it."""
        beat = 0
        while not self._ended.wait(_BEAT_SECONDS):
            beat += 1
            with suppress(OSError):
                try:
                    self._tag = object_store().put_if_match(self._url, self._data(beat), self._tag)
                except MismatchError:
                    tag = self._own_tag()
                    if tag is None:
                        return
                    self._tag = tag

    def _data(self, beat: int = 0) -> bytes:
        return json.dumps({**asdict(self._holder), "beat": beat}).encode()


def _host() -> str:
    return f"{socket.gethostname()} {psutil.boot_time():.0f}"


def _is_dead(holder: _Holder) -> bool:
    """Whether a holder ran on this machine and has ended."""
    if holder.host != _host():
        return False
    try:
        return psutil.Process(holder.pid).create_time() != holder.started
    except psutil.NoSuchProcess:
        return True


def lock_at(path: Path, text: str = "") -> FileLock | Lease:
    """A lock on a file, or on an object if the path stands for its URL.

    Raises:
        LockedError: Another process holds it.
    """
    url = url_of(path)
    return FileLock(path, text) if url is None else Lease(url, text)
