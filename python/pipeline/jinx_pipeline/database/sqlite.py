"""SQLite."""

import os
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from jinx_pipeline.database.columns import Column
from jinx_pipeline.database.connection import (
    AwayError,
    Connection,
    DatabaseError,
    quoted,
    refuse_other_columns,
    refuse_type,
    update_clause,
)

_KINDS: Final = {"str": "TEXT", "int": "INTEGER", "float": "REAL", "bool": "INTEGER", "bytes": "BLOB", "json": "TEXT"}
# The affinities of columns that keep each value of a type as it is; numbers and texts are converted to the affinity of
# a column. Blobs never are.
_SAFE: Final = {
    "str": ("TEXT", "BLOB"),
    "int": ("INTEGER", "NUMERIC", "BLOB", "TEXT"),
    "float": ("REAL", "NUMERIC", "INTEGER", "BLOB"),
    "bool": ("INTEGER", "NUMERIC", "BLOB"),
    "json": ("TEXT", "BLOB"),
}
# The affinity of a declared type that contains a word; see https://www.sqlite.org/datatype3.html.
_AFFINITIES: Final = (
    ("INT", "INTEGER"),
    ("CHAR", "TEXT"),
    ("CLOB", "TEXT"),
    ("TEXT", "TEXT"),
    ("BLOB", "BLOB"),
    ("REAL", "REAL"),
    ("FLOA", "REAL"),
    ("DOUB", "REAL"),
)
# How long a connection waits for another writer.
_LOCK_SECONDS: Final = 60.0
_CHUNK_ROWS: Final = 1000


class SqliteConnection(Connection):
    """A connection to a file of SQLite.

    Args:
        path: The file, which is made if it does not exist.
        only_reads: Whether the file must exist, and stays as it is.

    Raises:
        DatabaseError: The file does not exist, or is not a SQLite database.
    """

    def __init__(self, path: str, *, only_reads: bool = False) -> None:
        self._path = path
        if only_reads and not Path(path).exists():
            raise DatabaseError(f"{path}: no such database")
        with self._errors():
            name = _read_only(Path(path)) if only_reads else path
            self._connection = sqlite3.connect(name, timeout=_LOCK_SECONDS, isolation_level=None, uri=only_reads)
            # Readers do not wait for writers.
            self._connection.execute(f"PRAGMA {'query_only=ON' if only_reads else 'journal_mode=WAL'}")

    def prepare(self, table: str, columns: Sequence[Column], key: Sequence[str]) -> None:
        """See `Connection.prepare`."""
        types = ", ".join(f'"{column.name}" {_KINDS[column.kind]}' for column in columns)
        with self._errors(), self._transaction():
            self._connection.execute(f'CREATE TABLE IF NOT EXISTS "{table}" ({types}, PRIMARY KEY ({quoted(key)}))')
            facts = self._connection.execute(f'PRAGMA table_info("{table}")').fetchall()
            unique = self._unique_keys(table, facts)
        # SQLite does not distinguish the cases of names.
        declared = {name.lower(): kind for _, name, kind, *_ in facts}
        refuse_other_columns(f"the table {table}", columns, [name for _, name, *_ in facts])
        for column in columns:
            stored = declared[column.name.lower()]
            if column.kind in _SAFE and _affinity(stored) not in _SAFE[column.kind]:
                refuse_type(table, column, stored)
        if sorted(key) not in unique:
            raise DatabaseError(f"the columns {', '.join(key)} are no key of the table {table}")

    def has_table(self, table: str) -> bool:
        """See `Connection.has_table`."""
        with self._errors():
            return bool(self._connection.execute(f'PRAGMA table_info("{table}")').fetchall())

    def upsert(self, table: str, columns: Sequence[Column], key: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """See `Connection.upsert`."""
        names, values = quoted([column.name for column in columns]), ", ".join("?" * len(columns))
        conflict = f"ON CONFLICT ({quoted(key)}) {update_clause(columns, key)}"
        # Names of tables and columns are checked.
        statement = f'INSERT INTO "{table}" ({names}) VALUES ({values}) {conflict}'  # noqa: S608
        with self._errors(), self._transaction():
            self._connection.executemany(statement, rows)

    def select(self, query: str) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        """See `Connection.select`."""
        with self._errors():
            cursor = self._connection.execute(query)
            if cursor.description is None:
                raise DatabaseError(f"this query selects nothing: {query}")
            names = [name for name, *_ in cursor.description]
            yield names, cursor.fetchmany(_CHUNK_ROWS)
            while rows := cursor.fetchmany(_CHUNK_ROWS):
                yield names, rows

    def close(self) -> None:
        """See `Connection.close`."""
        self._connection.close()

    def _unique_keys(self, table: str, facts: list[tuple[Any, ...]]) -> list[list[str]]:
        """The columns of the primary key and of each unique index that tells all values apart."""
        indexes = self._connection.execute(f'PRAGMA index_list("{table}")').fetchall()
        # A key that is the number of the row has no index.
        has_index = any(origin == "pk" for _, _, _, origin, _ in indexes)
        keys = [] if has_index else [sorted(fact[1] for fact in facts if fact[5])]
        for _, index, is_unique, _, is_partial in indexes:
            parts = self._connection.execute(f'PRAGMA index_xinfo("{index}")').fetchall()
            found = [(name, collation) for _, _, name, _, collation, is_key in parts if is_key]
            if is_unique and not is_partial and all(name and collation == "BINARY" for name, collation in found):
                keys.append(sorted(name for name, _ in found))
        return keys

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, OverflowError) as error:
            raise ValueError(str(error)) from error
        except sqlite3.OperationalError as error:
            kind = AwayError if "locked" in str(error) or "busy" in str(error) else DatabaseError
            raise kind(f"{self._path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise DatabaseError(f"{self._path}: {error}") from error


def _read_only(path: Path) -> str:
    """The URI of a file that is only read."""
    # Next to a file with a write-ahead log, SQLite makes files, which only a connection that may write removes.
    cannot_change = not os.access(path.absolute().parent, os.W_OK) and not Path(f"{path}-wal").exists()
    return f"{path.absolute().as_uri()}?{'mode=ro&immutable=1' if cannot_change else 'mode=rw'}"


def _affinity(declared: str) -> str:
    """The affinity of a column, by its declared type."""
    found = next((affinity for word, affinity in _AFFINITIES if word in declared.upper()), "NUMERIC")
    return found if declared else "BLOB"
