"""A connection to a database."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from jinx_pipeline.database.address import Address
from jinx_pipeline.database.columns import Column


class AwayError(RuntimeError):
    """Raised if the database does not answer, or is locked; a later attempt may succeed.

    Attributes:
        retry_after: How many seconds to wait.
    """

    retry_after: ClassVar[float] = 2.0


class DatabaseError(RuntimeError):
    """Raised if the database refuses every row: a table, column or permission is missing; the message says which."""

    concerns_all_rows = True
    needs_repair = True


class Connection(ABC):
    """A connection to a database. Every method either does all or nothing."""

    @abstractmethod
    def prepare(self, table: str, columns: Sequence[Column], key: Sequence[str]) -> None:
        """Create a table, or check the columns of the existing one.

        Raises:
            AwayError: The database does not answer.
            DatabaseError: The table lacks a column, has one of a type that changes values, or has another key.
        """

    @abstractmethod
    def has_table(self, table: str) -> bool:
        """Whether a table exists.

        Raises:
            AwayError: The database does not answer.
            DatabaseError: It refuses the query.
        """

    @abstractmethod
    def upsert(self, table: str, columns: Sequence[Column], key: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Write rows in one transaction; a row replaces an earlier row with the same key.

        Args:
            table: The table.
            columns: Its columns.
            key: The columns of the key.
            rows: The values of each row, in the order of the columns.

        Raises:
            AwayError: The database does not answer.
            ValueError: The database refuses a row.
        """

    @abstractmethod
    def select(self, query: str) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        """The rows of a query, in chunks with the names of the columns; at least one chunk, which may be empty.

        On a connection that reads, a query changes nothing.

        Raises:
            AwayError: The database does not answer.
            DatabaseError: It refuses the query.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


def connect(address: Address, *, only_reads: bool = False) -> Connection:
    """Connect to a database.

    Args:
        address: The address.
        only_reads: Whether nothing is written: a file of SQLite must exist, and stays as it is.

    Raises:
        AwayError: The database does not answer.
        DatabaseError: It refuses the connection, or the file does not exist.
        ImportError: The package for PostgreSQL is not installed.
    """
    if address.kind == "sqlite":
        from jinx_pipeline.database.sqlite import SqliteConnection

        return SqliteConnection(address.target, only_reads=only_reads)
    from jinx_pipeline.database.postgresql import PostgresqlConnection

    return PostgresqlConnection(address.target)


def update_clause(columns: Sequence[Column], key: Sequence[str]) -> str:
    """The SQL clause for a row whose key exists already."""
    others = [f'"{column.name}" = excluded."{column.name}"' for column in columns if column.name not in key]
    return f"DO UPDATE SET {', '.join(others)}" if others else "DO NOTHING"


def quoted(names: Sequence[str]) -> str:
    """Names as a list in SQL."""
    return ", ".join(f'"{name}"' for name in names)


def refuse_other_columns(table: str, columns: Sequence[Column], present: Sequence[str]) -> None:
    """Refuse a table that lacks a column.

    Raises:
        DatabaseError: It lacks a column.
    """
    missing = [column.name for column in columns if column.name not in present]
    if missing:
        known = ", ".join(present)
        raise DatabaseError(f"{table} has no column {missing[0]}; it has: {known}")


def refuse_type(table: str, column: Column, stored: str) -> None:
    """Refuse a table with a column that would change values.

    Raises:
        DatabaseError: Always.
    """
    raise DatabaseError(
        f"the column {column.name} of the table {table} is {stored}, which changes values of the type {column.kind}; "
        f"declare another type, or name another table"
    )
