"""Stores answers of services on disk, in a SQLite file for each machine, so that thousands of answers are in one file.

Write-ahead logging needs memory that all processes using a file share, so machines with a shared directory do not write
to the same file. Each machine has its own file, and reads the files of the others as of their last checkpoint. Each row
has a digest, because another machine may write during a read. At most the answers since a checkpoint are requested
again.
"""

import hashlib
import os
import platform
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

T = TypeVar("T")

# How many seconds to wait for other processes that hold the file.
_PATIENCE: Final = 60.0
# Seconds between two attempts to switch a file to write-ahead logging.
_PAUSE: Final = 0.01
# After this many pages of 4 kB, the log is written to the file, where other machines can read it.
_CHECKPOINT_PAGES: Final = 200
_DIGEST_BYTES: Final = 16


class AnswerStore:
    """Answers by key; several processes and threads may use the same directory.

    Args:
        folder: The directory of the files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._own: sqlite3.Connection | None = None
        self._process = 0
        self._others: dict[Path, tuple[int, sqlite3.Connection]] = {}

    def get(self, key: bytes) -> bytes | None:
        """The stored answer for a key, of this machine or another one.

        Raises:
            OSError: The file cannot be read.
        """
        with self._lock:
            answer = self._run(lambda own: _row(own, key))
            if answer is None:
                answer = self._of_others(key)
        return self._of_earlier_version(key) if answer is None else answer

    def put(self, key: bytes, answer: bytes) -> bytes:
        """Store an answer; returns the stored one, which may be an earlier answer to the same concurrent request.

        Raises:
            OSError: The file cannot be written.
        """

        def store(own: sqlite3.Connection) -> bytes:
            with own:
                own.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (key, answer, _digest(key, answer)))
            first = _row(own, key)
            if first is None:  # it is damaged
                with own:
                    own.execute("REPLACE INTO answers VALUES (?, ?, ?)", (key, answer, _digest(key, answer)))
            return answer if first is None else first

        with self._lock:
            return self._run(store)

    def _run(self, use: Callable[[sqlite3.Connection], T]) -> T:
        """Use this machine's file; a damaged file is moved aside, and a new one is begun."""
        path = self._folder / f"{_machine()}.sqlite"
        try:
            try:
                return use(self._connection(path))
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                self._move_aside(path)
                return use(self._connection(path))
        except sqlite3.Error as error:
            raise OSError(f"{path}: {error}") from error

    def _connection(self, path: Path) -> sqlite3.Connection:
        # A forked process must not use the connection of its parent.
        if self._own is None or self._process != os.getpid():
            self._folder.mkdir(parents=True, exist_ok=True)
            own = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
            _log_ahead(own)
            # A crash of the machine loses the latest answers; a crash of a process loses none.
            own.execute("PRAGMA synchronous = NORMAL")
            own.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            with own:
                own.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB, digest BLOB)")
            self._own, self._process = own, os.getpid()
        return self._own

    def _move_aside(self, path: Path) -> None:
        if self._own is not None:
            self._own.close()
            self._own = None
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{path}{suffix}").replace(f"{path}.damaged-{time.time_ns()}{suffix}")

    def _of_others(self, key: bytes) -> bytes | None:
        own = f"{_machine()}.sqlite"
        for path in self._folder.glob("*.sqlite"):
            if path.name == own:
                continue
            with suppress(sqlite3.Error, OSError):
                answer = _row(self._open_immutable(path), key)
                if answer is not None:
                    return answer
        return None

    def _open_immutable(self, path: Path) -> sqlite3.Connection:
        """Open the file of another machine, without its log and without locks."""
        changed = path.stat().st_mtime_ns
        opened_at, connection = self._others.get(path, (0, None))
        if connection is None or opened_at != changed:
            if connection is not None:
                connection.close()
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
            )
            self._others[path] = changed, connection
        return connection

    def _of_earlier_version(self, key: bytes) -> bytes | None:
        """The answer in the layout of an earlier version, which kept each answer in its own file."""
        name = key.hex()
        try:
            return (self._folder / name[:2] / f"{name}.json").read_bytes()
        except FileNotFoundError:
            return None


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite itself does not wait if two processes switch a new file at once."""
    deadline = time.monotonic() + _PATIENCE
    while not _is_switched(connection):
        if time.monotonic() > deadline:
            raise sqlite3.OperationalError(f"other processes held the file for {_PATIENCE:.0f} seconds")
        time.sleep(_PAUSE)


def _is_switched(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return False
        raise
    return True


def _row(connection: sqlite3.Connection, key: bytes) -> bytes | None:
    with closing(connection.execute("SELECT answer, digest FROM answers WHERE key = ?", (key,))) as cursor:
        row = cursor.fetchone()
    return row[0] if row is not None and row[1] == _digest(key, row[0]) else None


def _digest(key: bytes, answer: bytes) -> bytes:
    return hashlib.blake2b(key + answer, digest_size=_DIGEST_BYTES).digest()


def _machine() -> str:
    """A name for the machine, equal only for processes that share memory: the boot id of the kernel."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return platform.node() or "machine"
