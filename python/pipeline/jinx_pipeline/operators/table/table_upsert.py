"""Writes columns of samples to a table of a database: the sink `database` of a graph."""

from collections.abc import Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from jinx_pipeline.database.address import Address, address_of
from jinx_pipeline.database.columns import Column, columns_of, refuse_name
from jinx_pipeline.database.connection import AwayError, Connection, connect
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError

# The open connections of this process, each with the tables that were prepared.
_CONNECTIONS: dict[Address, tuple[Connection, set[str]]] = {}


class TableUpsert(Operator):
    """Upserts a row for each sample, by key, with one transaction per batch; the samples are not changed.

    A block that is done again writes the same rows again, so that its key must belong to one sample. While the
    database is away, workers wait; a row that it refuses is left out.

    Attributes:
        database: A SQLite file, the URL of a PostgreSQL server, or `env:NAME`, an environment variable with one.
        table: The table, which is made if it does not exist.
        key: The column or columns that identify a row.
        columns: For each column its type (`str`, `int`, `float`, `bool`, `bytes`, `json`), or the type, a colon, and
            the column or path of the samples.
    """

    name: ClassVar[str] = "table_upsert"
    kind = "sink"
    batch_size = 5000
    may_probe = False
    pure = False
    trust = "writes to a database"
    database: str
    table: str
    key: str | list[str]
    columns: dict[str, str]

    def check(self) -> None:
        try:
            refuse_name(self.table)
        except ValueError as error:
            raise ParameterError(self.name, "table", str(error)) from None
        try:
            names = [column.name for column in self.table_columns]
        except ValueError as error:
            raise ParameterError(self.name, "columns", str(error)) from None
        unknown = [name for name in self._key if name not in names]
        if unknown or not self._key:
            raise ParameterError(self.name, "key", f"key names columns of the table: {', '.join(names)}")
        if not self.database.startswith("env:"):
            self._address()

    def resolve(self) -> None:
        self._address()

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column.path for column in self.table_columns))

    def run(self, batch: Batch, ctx: Context) -> Batch:
        del ctx
        if not len(batch):
            return batch
        rows = self._rows(batch)
        address = self._address()
        try:
            connection, prepared = _connected(address)
            if self.table not in prepared:
                connection.prepare(self.table, self.table_columns, self._key)
                prepared.add(self.table)
            connection.upsert(self.table, self.table_columns, self._key, rows)
        except AwayError:
            # The next attempt connects again.
            lost = _CONNECTIONS.pop(address, None)
            if lost is not None:
                lost[0].close()
            raise
        return batch

    def has_table(self) -> bool:
        """Whether the table exists.

        Raises:
            AwayError: The database does not answer.
            DatabaseError: It refuses to say so.
            ImportError: The package for PostgreSQL is not installed.
        """
        address = self._address()
        if address.kind == "sqlite" and not Path(address.target).exists():
            return False
        with closing(connect(address, only_reads=True)) as connection:
            return connection.has_table(self.table)

    def _rows(self, batch: Batch) -> list[tuple[Any, ...]]:
        """The rows to write. Of rows with the same key, only the last: a statement cannot write a row twice."""
        columns = [[column.stored(value) for value in batch.column(column.path)] for column in self.table_columns]
        places = [[column.name for column in self.table_columns].index(name) for name in self._key]
        by_key: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for row in zip(*columns, strict=True):
            key = tuple(row[place] for place in places)
            if None in key:
                raise ValueError(f"the key {', '.join(self._key)} is missing")
            by_key[key] = row
        return list(by_key.values())

    def _address(self) -> Address:
        try:
            return address_of(self.database)
        except ValueError as error:
            raise ParameterError(self.name, "database", str(error)) from None

    @cached_property
    def table_columns(self) -> list[Column]:
        """The columns of the table, with their types."""
        return columns_of(self.columns)

    @property
    def _key(self) -> list[str]:
        return [self.key] if isinstance(self.key, str) else self.key


def _connected(address: Address) -> tuple[Connection, set[str]]:
    if address not in _CONNECTIONS:
        _CONNECTIONS[address] = connect(address), set()
    return _CONNECTIONS[address]


def is_table(values: Any) -> bool:
    """Whether the content of a sink names a table of a database."""
    return isinstance(values, Mapping) and "database" in values
