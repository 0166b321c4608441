"""PostgreSQL, with psycopg 3."""

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
from jinx_pipeline.optional import require

_KINDS: Final = {
    "str": "TEXT",
    "int": "BIGINT",
    "float": "DOUBLE PRECISION",
    "bool": "BOOLEAN",
    "bytes": "BYTEA",
    "json": "JSONB",
}
_CONNECT_SECONDS: Final = 10
_CHUNK_ROWS: Final = 1000
# Connection errors that a retry will not fix; psycopg gives them no code.
_REFUSALS: Final = ("authentication failed", "does not exist", "no password supplied", "pg_hba.conf")
# Classes of error codes: no connection, a conflict with another transaction, no resources, a shutdown.
_AWAY: Final = ("08", "40", "53", "57")
# Classes of error codes that concern the values of a row.
_OF_A_ROW: Final = ("22", "23")
_KEYS: Final = """
SELECT array_agg(attribute.attname::text ORDER BY attribute.attname::text)
FROM pg_index JOIN pg_attribute attribute ON attribute.attrelid = indrelid AND attribute.attnum = ANY(indkey)
WHERE indrelid = to_regclass(%s) AND indisunique GROUP BY indexrelid
"""


class PostgresqlConnection(Connection):
    """A connection to a server.

    Args:
        url: The URL, as libpq reads it; it is in no message.
    """

    def __init__(self, url: str) -> None:
        self._psycopg: Any = require("psycopg", what="PostgreSQL", extra="postgresql")
        with self._errors():
            self._connection: Any = self._psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_SECONDS)

    def prepare(self, table: str, columns: Sequence[Column], key: Sequence[str]) -> None:
        """See `Connection.prepare`."""
        types = ", ".join(f'"{column.name}" {_KINDS[column.kind]}' for column in columns)
        with self._errors(), self._connection.transaction(), self._connection.cursor() as cursor:
            # Two workers that create the same table at the same time would block each other.
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [table])
            cursor.execute(f'CREATE TABLE IF NOT EXISTS "{table}" ({types}, PRIMARY KEY ({quoted(key)}))')
            cursor.execute(f'SELECT * FROM "{table}" LIMIT 0')  # noqa: S608 - names of tables and columns are checked
            present = [fact.name for fact in cursor.description]
            keys = [names for (names,) in cursor.execute(_KEYS, [f'"{table}"']).fetchall()]
        refuse_other_columns(table, columns, present)
        if sorted(key) not in keys:
            raise DatabaseError(f"the columns {', '.join(key)} are no key of the table {table}")

    def upsert(self, table: str, columns: Sequence[Column], key: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """See `Connection.upsert`."""
        names = quoted([column.name for column in columns])
        with self._errors(), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(f'CREATE TEMP TABLE jinx_rows (LIKE "{table}") ON COMMIT DROP')
            # COPY is several times as fast as INSERT.
            with cursor.copy(f"COPY jinx_rows ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            # Insert in the order of the key, so that two workers do not wait for each other's rows.
            cursor.execute(
                f'INSERT INTO "{table}" ({names}) SELECT {names} FROM jinx_rows '  # noqa: S608 - as above
                f"ORDER BY {quoted(key)} ON CONFLICT ({quoted(key)}) {update_clause(columns, key)}"
            )

    def select(self, query: str) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        """See `Connection.select`."""
        with self._errors(), self._connection.transaction(), self._connection.cursor("jinx_select") as cursor:
            cursor.execute(query)
            names = [fact.name for fact in cursor.description]
            while rows := cursor.fetchmany(_CHUNK_ROWS):
                yield names, rows

    def close(self) -> None:
        """See `Connection.close`."""
        self._connection.close()

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            code, message = error.sqlstate or "", " ".join(str(error).split())
            if code.startswith(_OF_A_ROW):
                raise ValueError(message) from error
            is_refused = any(refusal in message for refusal in _REFUSALS)
            is_away = code.startswith(_AWAY) or (not code and isinstance(error, self._psycopg.OperationalError))
            raise (AwayError if is_away and not is_refused else DatabaseError)(f"PostgreSQL: {message}") from error
