"""Selects rows of a database while a run runs: a source with a query that follows other nodes of a graph."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from jinx_pipeline.database.address import address_of
from jinx_pipeline.database.columns import columns_of
from jinx_pipeline.database.connection import connect, refuse_other_columns
from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Splitter

TRIGGER = "query"
"""The only column of the one sample that `TableSelect` reads."""


class TableSelect(Splitter):
    """Makes samples from the rows of a query, once the nodes before it are complete.

    It reads one sample. Its result is committed as that of any block: a resumed run has the same rows.

    Attributes:
        database: A SQLite file, the URL of a PostgreSQL server, or `env:NAME`, an environment variable with one.
        query: The query, which says the order of the rows.
        columns: The type of each column.
    """

    name: ClassVar[str] = "table_select"
    may_probe = False
    pure = False
    database: str
    query: str
    columns: dict[str, str]

    @property
    def reads(self) -> tuple[str, ...]:
        return (TRIGGER,)

    @property
    def writes(self) -> tuple[str, ...]:
        return (TRIGGER, *self.columns)

    def split(self, batch: Batch, ctx: Context) -> tuple[npt.NDArray[np.int64], Mapping[str, Any]]:
        ctx.begins(0)  # a query may take long
        declared = columns_of(self.columns)
        values: dict[str, list[Any]] = {column.name: [] for column in declared}
        connection = connect(address_of(self.database), reads=True)
        try:
            for names, rows in connection.select(self.query):
                refuse_other_columns("the query", declared, names)
                for column in declared:
                    place = names.index(column.name)
                    values[column.name] += [column.loaded(row[place]) for row in rows]
        finally:
            connection.close()
        count = len(values[declared[0].name])
        return np.zeros(count, dtype=np.int64), {TRIGGER: [REMOVED] * count, **values}
