"""Writes the output of a task: a saved view with positions and changed columns, or the samples as stored.

Rows are written batch by batch; the own columns of a view are held on disk until all of them are known. Either way, a
task holds the values of one batch in memory, not those of all its rows.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import is_
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import numpy as np

import jinx
from jinx._results import WriteResult
from jinx._saved_views.save import write as write_view
from jinx.errors import JinxError
from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.sample_source import ABSENT, ID, ROW, UNCHANGED, in_order
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.runlog.work_dir import remove_part
from jinx_pipeline.worker.held_columns import Columns, HeldColumns
from jinx_pipeline.worker.operator_chain import Chain
from jinx_pipeline.worker.own_values import KEPT, copy_rows
from jinx_pipeline.worker.part_columns import PartColumns

if TYPE_CHECKING:
    import pyarrow as pa

# In reports of rows that cannot be written, this replaces the name of an operator.
WRITING: Final = "writing the output"
# Errors of a row that cannot be read or stored.
_OF_A_ROW: Final = (JinxError, ValueError, TypeError, OverflowError)
# The key of a shared value: the number of each row of a batch, which identifies the remaining rows.
_NUMBERS: Final = "numbers of rows"

T = TypeVar("T")


class PartWriter(ABC):
    """Writes the batches of a task; only rows that cannot be read or stored are left out.

    Args:
        stage: The stage that made the batches.
        source: The source of their rows.
        path: The part.
        chain: Records the rows that are left out.
        publish_tables: Called with the tables of the rows of the part before the part is published.
    """

    def __init__(
        self,
        stage: Stage,
        source: OpenSource,
        path: Path,
        chain: Chain,
        publish_tables: "Callable[[list[pa.Table]], None]",
    ) -> None:
        self._stage = stage
        self._source = source
        self._path = path
        self._chain = chain
        self._publish_tables = publish_tables
        self._columns = PartColumns(stage, source)

    @abstractmethod
    def add(self, batch: Batch, table: "pa.Table | None") -> None:
        """Write a batch, or keep it to be written later.

        Args:
            batch: The rows.
            table: A table with one row for each row of the batch; left-out rows are removed from it too.
        """

    @abstractmethod
    def close(self) -> WriteResult | None:
        """Publish the part; returns None if there is no row in it."""

    @abstractmethod
    def abort(self) -> None:
        """Drop everything that was not published."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def _attempt(self, batch: Batch, call: Callable[[Batch], T]) -> list[tuple[Batch, T]]:
        """Like `Chain.attempt`, but without a time limit for the first call, because a disk may be slow."""
        self._chain.begin(WRITING)
        try:
            return [(batch, call(batch))]
        except _OF_A_ROW:
            return self._chain.attempt(WRITING, batch, call)


class RowsWriter(PartWriter):
    """Writes samples batch by batch; unchanged values are not decoded."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._writer: jinx.Writer | None = None
        self._tables: list[pa.Table] = []
        # The number of rows of the current batch that were already written by a call that failed later.
        self._ahead = 0

    def add(self, batch: Batch, table: "pa.Table | None") -> None:
        """See `PartWriter.add`."""
        self._ahead = 0
        written = [part for part, _ in self._attempt(_numbered(batch), self._write)]
        if table is not None and written:
            self._tables.append(_rows_of(table, written))

    def close(self) -> WriteResult | None:
        """See `PartWriter.close`."""
        if self._writer is None or not self._writer.samples:
            return None
        self._chain.begin(WRITING)
        if self._tables:
            self._publish_tables(self._tables)
        return self._writer.close()

    def abort(self) -> None:
        """See `PartWriter.abort`."""
        if self._writer is not None:
            self._writer.abort()

    def _write(self, batch: Batch) -> None:
        """Write those rows of a batch that are not written yet; `_ahead` counts rows written before an error."""
        if self._writer is None:
            self._writer = jinx.Writer(self._path, overwrite=True, **self._stage.writer)
        writer, ahead, before = self._writer, min(self._ahead, len(batch)), self._writer.samples
        try:
            if ahead < len(batch):
                self._append(writer, batch.take(range(ahead, len(batch))))
        except _OF_A_ROW as error:
            if getattr(error, "sample", None) not in {None, writer.samples}:
                # The error belongs to an earlier row, but it is unknown which.
                raise RuntimeError(str(error)) from error
            self._ahead += writer.samples - before
            raise
        self._ahead -= ahead

    def _append(self, writer: jinx.Writer, batch: Batch) -> None:
        if batch.source is not self._source.dataset:
            writer.write_many(self._columns.samples(batch))
            return
        copy_rows(writer, self._source, batch.positions, self._columns.changed(batch))


@dataclass(frozen=True)
class _Held:
    """A batch that is kept until its view is written.

    Attributes:
        batch: Its rows, without the columns that changed.
        number: The number under which the changed columns are held.
        removed: The number of rows that lack each column.
        unchanged: The number of rows in which each column has the value of the base.
        table: See `PartWriter.add`.
    """

    batch: Batch
    number: int
    removed: Mapping[str, int]
    unchanged: Mapping[str, int]
    table: "pa.Table | None" = None

    @classmethod
    def of(cls, batch: Batch, columns: Columns, number: int = 0, table: "pa.Table | None" = None) -> Self:
        """The rows with the given columns."""
        removed = {
            name: sum(map(is_, values, repeat(REMOVED))) for name, values in columns.items() if name != UNCHANGED
        }
        return cls(batch.unchanged(), number, removed, Counter(chain.from_iterable(columns.get(UNCHANGED, ()))), table)


class ViewWriter(PartWriter):
    """Writes a view: the remaining rows of the base in order, and the columns that differ."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if self._source.base is None:
            raise ValueError("a view needs a base")
        self._base = self._source.base
        self._held: list[_Held] = []
        self._values = HeldColumns(self._path.parent)

    def add(self, batch: Batch, table: "pa.Table | None") -> None:
        """See `PartWriter.add`."""

        def whole_columns(part: Batch) -> Columns:
            return self._columns.whole(part, self._columns.of(part))

        for part, columns in self._attempt(_numbered(batch), whole_columns):
            self._hold(part, columns, table)

    def close(self) -> WriteResult | None:
        """See `PartWriter.close`."""
        self._complete()
        while self._held:
            self._chain.begin(WRITING)
            tables = [held.table for held in self._held if held.table is not None]
            if tables:
                self._publish_tables(tables)
            try:
                return self._write(self._path, self._held, (self._values.get(held.number) for held in self._held))
            except _OF_A_ROW as error:
                before = len(self._chain.bad)
                self._drop_unwritable()
                if len(self._chain.bad) == before:
                    raise error from None
        return None

    def abort(self) -> None:
        """See `PartWriter.abort`."""
        self._values.close()

    def _hold(self, batch: Batch, columns: Columns, table: "pa.Table | None") -> None:
        rows = None if table is None else _rows_of(table, [batch])
        self._held.append(_Held.of(batch, columns, self._values.add(columns), rows))

    def _complete(self) -> None:
        """Give every batch the columns that changed in any batch."""
        names = _names(self._held)
        batches, self._held = self._held, []
        for held in batches:
            missing = [name for name in names if name not in held.removed]
            if not missing:
                self._held.append(held)
                continue

            def whole_columns(part: Batch, missing: Sequence[str] = missing) -> Columns:
                return _joined(part.changed, self._columns.whole(part, {name: [KEPT] * len(part) for name in missing}))

            for part, columns in self._attempt(self._restored(held), whole_columns):
                self._hold(part, columns, held.table)

    def _drop_unwritable(self) -> None:
        """Keep only rows that can be written; this is tried in a temporary file."""
        trial = self._path.with_name(f"{self._path.stem}.trial{self._path.suffix}")

        def write(part: Batch) -> None:
            self._write(trial, [_Held.of(part, part.changed)], [part.changed])

        batches, self._held = self._held, []
        for held in batches:
            for part, _ in self._chain.attempt(WRITING, self._restored(held), write):
                if len(part) == len(held.batch):
                    self._held.append(held)
                else:
                    self._hold(part, part.changed, held.table)
        remove_part(trial)

    def _restored(self, held: _Held) -> Batch:
        return _numbered(held.batch.with_columns(self._values.get(held.number)))

    def _write(self, path: Path, batches: Sequence[_Held], columns: Iterable[Columns]) -> WriteResult:
        """Write a view of batches with the same columns."""
        rows = np.concatenate([self._source.input_rows(held.batch.positions) for held in batches])
        names = _names(batches)
        removed = {name: sum(held.removed[name] for held in batches) for name in names}
        unchanged = {name: sum(held.unchanged.get(name, 0) for held in batches) for name in names}
        # Columns that no row changed are shown from the base.
        written = [name for name in names if unchanged[name] < len(rows)]
        own = [name for name in written if removed[name] < len(rows)]
        # If the base is a view, the written columns replace columns of the view with the same names.
        replaced = self._base._own_columns()
        dropped = [
            name for name in written if name in replaced or (name not in own and name in self._base.column_names)
        ]
        is_absent_somewhere = any(removed[name] for name in own)
        is_unchanged_somewhere = any(unchanged[name] for name in own)
        # Rows are named by their positions, unless the source has its own names.
        ids = [name for held in batches for name in held.batch.ids] if any(h.batch.is_named for h in batches) else []
        is_named = bool(ids) and ids != [str(row) for row in rows.tolist()]

        def own_columns() -> Iterator[Mapping[str, list[Any]]]:
            start = 0
            for held, values in zip(batches, columns, strict=True):
                stop = start + len(held.batch)
                chosen = {name: values[name] for name in own}
                output = {name: [None if value is REMOVED else value for value in chosen[name]] for name in own}
                output[ROW] = rows[start:stop].tolist()
                if is_absent_somewhere:
                    output[ABSENT] = _listed(_absent(chosen, len(held.batch)))
                if is_unchanged_somewhere:
                    output[UNCHANGED] = _listed(_chosen(values.get(UNCHANGED), own, len(held.batch)))
                if is_named:
                    output[ID] = ids[start:stop]
                yield output
                start = stop

        marks = {ABSENT: is_absent_somewhere, UNCHANGED: is_unchanged_somewhere, ID: is_named}
        # These columns come first, to distinguish them from columns that the base, if it is a view, has of its own.
        names = [ROW, *own, *(name for name, is_needed in marks.items() if is_needed)]
        view = self._base.select(rows)
        # `write_view` does not check whether the path is that of an input; the path of a part never is.
        return write_view(view.drop_columns(dropped) if dropped else view, str(path), names, own_columns())


def _numbered(batch: Batch) -> Batch:
    """The batch with a number for each row, which stays with the row when rows are selected."""
    batch.shared(_NUMBERS, lambda: np.arange(len(batch)))
    return batch


def _rows_of(table: "pa.Table", parts: Sequence[Batch]) -> "pa.Table":
    """The rows of a table that belong to the remaining rows of a numbered batch."""
    numbers = np.concatenate([part.shared(_NUMBERS, lambda: np.arange(0)) for part in parts])
    return table if len(numbers) == len(table) else table.take(numbers)


def _names(batches: Sequence[_Held]) -> list[str]:
    """The columns of the held batches, concatenated."""
    return in_order(name for held in batches for name in held.removed)


def _joined(columns: Columns, others: Columns) -> Columns:
    """A table with the columns of both tables, which have the same rows."""
    both = {**columns, **others}
    if UNCHANGED in columns and UNCHANGED in others:
        both[UNCHANGED] = [[*some, *more] for some, more in zip(columns[UNCHANGED], others[UNCHANGED], strict=True)]
    return both


def _absent(columns: Columns, rows: int) -> list[list[str]]:
    """For each row, the names of the columns that it lacks."""
    return [[name for name, values in columns.items() if values[row] is REMOVED] for row in range(rows)]


def _chosen(lists: Sequence[list[str]] | None, chosen: Sequence[str], rows: int) -> list[list[str]]:
    """The selected names of each list, in their order."""
    return [[name for name in chosen if name in names] for names in lists or [[]] * rows]


def _listed(lists: Sequence[list[str]]) -> list[str | None]:
    """Lists of names as JSON; None for an empty one."""
    return [json.dumps(names, ensure_ascii=False) if names else None for names in lists]
