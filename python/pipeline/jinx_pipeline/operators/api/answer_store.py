"""Answers of services on disk: a SQLite file for each machine, so that thousands of answers are one file.

Write-ahead logging needs memory that all processes of a file share, so machines on a shared folder do not write to the
same file: each has its own, and reads those of the others as they were last checkpointed. Each row has a digest,
because another machine may write while we read. What is paid for again is at most what a machine had not checkpointed.
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

# Seconds for which other processes may hold the file.
_PATIENCE: Final = 60.0
# Seconds between two tries to switch a file to write-ahead logging.
_PAUSE: Final = 0.01
# Pages of 4 kB after which the log goes to the file, where other machines see it.
_CHECKPOINT_PAGES: Final = 200
_DIGEST_BYTES: Final = 16


class AnswerStore:
    """Answers by their keys; several processes and threads may use one folder.

    Args:
        folder: Where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._own: sqlite3.Connection | None = None
        self._process = 0
        self._others: dict[Path, tuple[int, sqlite3.Connection]] = {}

    def get(self, key: bytes) -> bytes | None:
        """The answer that is kept, of this machine or another one.

        Raises:
            OSError: The file cannot be read.
        """
        with self._lock:
            answer = self._tried(lambda own: _row(own, key))
            if answer is None:
                answer = self._of_others(key)
        return self._of_earlier_version(key) if answer is None else answer

    def put(self, key: bytes, answer: bytes) -> bytes:
        """Keep an answer; returns the one that is kept, which is the first one where several asked the same at once.

        Raises:
            OSError: The file cannot be written.
        """

        def kept(own: sqlite3.Connection) -> bytes:
            with own:
                own.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (key, answer, _digest(key, answer)))
            first = _row(own, key)
            if first is None:  # it is damaged
                with own:
                    own.execute("REPLACE INTO answers VALUES (?, ?, ?)", (key, answer, _digest(key, answer)))
            return answer if first is None else first

        with self._lock:
            return self._tried(kept)

    def _tried(self, use: Callable[[sqlite3.Connection], T]) -> T:
        """What becomes of our own file; a file that is damaged is put aside, and another one begun."""
        path = self._folder / f"{_machine()}.sqlite"
        try:
            try:
                return use(self._connection(path))
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                self._put_aside(path)
                return use(self._connection(path))
        except sqlite3.Error as error:
            raise OSError(f"{path}: {error}") from error

    def _connection(self, path: Path) -> sqlite3.Connection:
        # A process that was forked must not use the connection of its parent.
        if self._own is None or self._process != os.getpid():
            self._folder.mkdir(parents=True, exist_ok=True)
            own = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
            _log_ahead(own)
            # A machine that goes down loses the last answers, and no process that ends does.
            own.execute("PRAGMA synchronous = NORMAL")
            own.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            with own:
                own.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB, digest BLOB)")
            self._own, self._process = own, os.getpid()
        return self._own

    def _put_aside(self, path: Path) -> None:
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
                answer = _row(self._as_it_is(path), key)
                if answer is not None:
                    return answer
        return None

    def _as_it_is(self, path: Path) -> sqlite3.Connection:
        """A file that another machine may be writing: read without its log and without locks."""
        changed = path.stat().st_mtime_ns
        seen, connection = self._others.get(path, (0, None))
        if connection is None or seen != changed:
            if connection is not None:
                connection.close()
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
            )
            self._others[path] = changed, connection
        return connection

    def _of_earlier_version(self, key: bytes) -> bytes | None:
        """Versions before this file kept each answer in a file of its own."""
        name = key.hex()
        try:
            return (self._folder / name[:2] / f"{name}.json").read_bytes()
        except FileNotFoundError:
            return None


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging: SQLite does not wait where two processes switch a new file at once."""
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
    """A name that only processes which share memory have in common: that of the running kernel."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return platform.node() or "machine"
