"""PostgreSQL, with psycopg 3."""

import re
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
    refuse_type,
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
# The types of columns that keep each value of a type as it is: keys of them stay different.
_SAFE: Final = {
    "str": ("text", "character varying", "uuid"),
    "int": ("bigint", "integer", "smallint", "numeric", "text", "character varying"),
    "float": ("double precision", "numeric", "text", "character varying"),
    "bool": ("boolean",),
    "bytes": ("bytea",),
    "json": ("jsonb", "json", "text", "character varying"),
}
# Types that parse a text and may store it in another spelling: allowed outside of the key, where users chose them.
_READ: Final = ("json", "jsonb", "date", "timestamp", "time", "interval", "inet", "cidr", "macaddr", "xml", "tsvector")
_LIMIT: Final = re.compile(r"character varying\((\d+)\)")
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
WHERE indrelid = to_regclass(%s) AND indisunique AND indpred IS NULL GROUP BY indexrelid
"""
_COLUMN_TYPES: Final = """
SELECT attname::text, format_type(atttypid, atttypmod), typnamespace <> 'pg_catalog'::regnamespace
FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped
"""


class PostgresqlConnection(Connection):
    """A connection to a server.

    Args:
        url: The URL, as libpq reads it; it is in no message.
    """

    def __init__(self, url: str) -> None:
        # The longest text of each column that has a limit, by table.
        self._max_characters: dict[str, dict[str, int]] = {}
        self._psycopg: Any = require("psycopg", what="PostgreSQL", extra="postgresql")
        with self._errors():
            self._connection: Any = self._psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_SECONDS)
            # JSON is decoded by the column that is declared, once.
            for name in ("json", "jsonb"):
                self._connection.adapters.register_loader(name, self._psycopg.types.string.TextLoader)

    def prepare(self, table: str, columns: Sequence[Column], key: Sequence[str]) -> None:
        """See `Connection.prepare`."""
        types = ", ".join(f'"{column.name}" {_KINDS[column.kind]}' for column in columns)
        with self._errors(), self._connection.transaction(), self._connection.cursor() as cursor:
            # Two workers that create the same table at the same time would block each other.
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [table])
            cursor.execute(f'CREATE TABLE IF NOT EXISTS "{table}" ({types}, PRIMARY KEY ({quoted(key)}))')
            cursor.execute(f'SELECT * FROM "{table}" LIMIT 0')  # noqa: S608 - names of tables and columns are checked
            present = [fact.name for fact in cursor.description]
            stored = {name: rest for name, *rest in cursor.execute(_COLUMN_TYPES, [f'"{table}"']).fetchall()}
            keys = [names for (names,) in cursor.execute(_KEYS, [f'"{table}"']).fetchall()]
        refuse_other_columns(f"the table {table}", columns, present)
        for column in columns:
            kind, is_foreign = stored[column.name]
            if not _keeps(column.kind, kind, is_foreign=is_foreign, in_key=column.name in key):
                refuse_type(table, column, kind)
        limits = {name: _LIMIT.fullmatch(kind) for name, (kind, _) in stored.items()}
        self._max_characters[table] = {name: int(limit[1]) for name, limit in limits.items() if limit is not None}
        if sorted(key) not in keys:
            raise DatabaseError(f"the columns {', '.join(key)} are no key of the table {table}")

    def has_table(self, table: str) -> bool:
        """See `Connection.has_table`."""
        with self._errors(), self._connection.cursor() as cursor:
            [found] = cursor.execute("SELECT to_regclass(%s)", [f'"{table}"']).fetchone()
            return found is not None

    def upsert(self, table: str, columns: Sequence[Column], key: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """See `Connection.upsert`."""
        names = quoted([column.name for column in columns])
        for place, column in enumerate(columns):
            if (limit := self._max_characters[table].get(column.name)) is not None:
                _refuse_longer(column.name, limit, [row[place] for row in rows])
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
            yield names, cursor.fetchmany(_CHUNK_ROWS)
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


def _refuse_longer(name: str, limit: int, values: Sequence[Any]) -> None:
    """Refuse texts that a column would cut: PostgreSQL itself removes spaces beyond its limit without an error."""
    longest = max((len(value) for value in values if isinstance(value, str)), default=0)
    if longest > limit:
        raise ValueError(f"a text of {longest} characters for the column {name}, which holds {limit}")


def _keeps(kind: str, stored: str, *, is_foreign: bool, in_key: bool) -> bool:
    """Whether a column keeps values of a type as they are, or is of a type that was chosen for what they say.

    Args:
        kind: The type of the values.
        stored: The type of the column, as PostgreSQL writes it.
        is_foreign: It is not one of PostgreSQL's own types: an enumeration, or from an extension.
        in_key: The column belongs to the key.
    """
    name = stored.partition("(")[0].strip()
    # With a precision, a number is rounded; longer texts are refused row by row.
    if name in _SAFE[kind] and name in {stored, "character varying"}:
        return True
    is_read = kind == "str" and name.split(" ")[0] in _READ
    return not in_key and (is_read or (is_foreign and kind in {"str", "json"}))
