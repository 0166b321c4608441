"""SQLite."""

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from jinx_pipeline.database.columns import Column
from jinx_pipeline.database.connection import (
    AwayError,
    Connection,
    DatabaseError,
    quoted,
    refuse_other_columns,
    update_clause,
)

_KINDS: Final = {"str": "TEXT", "int": "INTEGER", "float": "REAL", "bool": "INTEGER", "bytes": "BLOB", "json": "TEXT"}
# How long a connection waits for another writer.
_LOCK_SECONDS: Final = 60.0
_CHUNK_ROWS: Final = 1000


class SqliteConnection(Connection):
    """A connection to a file of SQLite.

    Args:
        path: The file, which is made if it does not exist.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with self._errors():
            self._connection = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None)
            # In this mode, readers do not wait for writers.
            self._connection.execute("PRAGMA journal_mode=WAL")

    def prepare(self, table: str, columns: Sequence[Column], key: Sequence[str]) -> None:
        """See `Connection.prepare`."""
        types = ", ".join(f'"{column.name}" {_KINDS[column.kind]}' for column in columns)
        with self._errors(), self._transaction():
            self._connection.execute(f'CREATE TABLE IF NOT EXISTS "{table}" ({types}, PRIMARY KEY ({quoted(key)}))')
            facts = self._connection.execute(f'PRAGMA table_info("{table}")').fetchall()
            unique = self._unique_keys(table, facts)
        refuse_other_columns(table, columns, [name for _, name, *_ in facts])
        if sorted(key) not in unique:
            raise DatabaseError(f"the columns {', '.join(key)} are no key of the table {table}")

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
            while rows := cursor.fetchmany(_CHUNK_ROWS):
                yield names, rows

    def close(self) -> None:
        """See `Connection.close`."""
        self._connection.close()

    def _unique_keys(self, table: str, facts: list[tuple[Any, ...]]) -> list[list[str]]:
        """The columns of the primary key and of each unique index."""
        keys = [sorted(fact[1] for fact in facts if fact[5])]
        for _, index, is_unique, *_ in self._connection.execute(f'PRAGMA index_list("{table}")').fetchall():
            if is_unique:
                keys.append(sorted(row[2] for row in self._connection.execute(f'PRAGMA index_info("{index}")')))
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
