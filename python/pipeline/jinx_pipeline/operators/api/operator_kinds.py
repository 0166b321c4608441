"""The kinds of operators besides filters, each with the method that a subclass implements."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from jinx_pipeline.exchange.chunks import Chunks, whole
from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Keyed
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.returned import (
    ReturnedError,
    check_count,
    checked_mask,
    checked_positions,
    refuse_private,
)
from jinx_pipeline.sample.paths import text_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]
    Positions = npt.NDArray[np.int64]

Edited: TypeAlias = "pa.Array | Sequence[str | None]"
Duplicates: TypeAlias = "tuple[Mask, Positions]"

GLOBAL_KINDS = frozenset(
    {"deduplicator", "selector", "grouper", "aggregator", "join", "order", "gather", "annotation", "fitted"}
)
"""The kinds of operators that look at all rows."""


class Mapper(Operator):
    """Changes or adds columns of each sample."""

    kind = "mapper"

    @abstractmethod
    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        """The columns that changed, each with a value for each sample; empty if nothing changed."""

    def run(self, batch: Batch, ctx: Context) -> Batch:
        columns = self.process(batch, ctx)
        refuse_private(columns)
        if not self.writes:
            return batch.with_columns(columns).opened()
        read = {batch.roles.column(name) for name in self.reads}
        return batch.with_columns(
            {name: _with_absent(batch, name, values) if name in read else values for name, values in columns.items()}
        )


class TextMapper(Mapper):
    """Edits each text of a sample."""

    kind = "mapper"

    @abstractmethod
    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        """The edited texts; None keeps a text.

        Args:
            texts: The texts of all samples, as Arrow strings without nulls.
            ctx: The context, with seed and threads.
        """

    @property
    def writes(self) -> tuple[str, ...]:
        return ("text",)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        return batch.with_texts_as(self.edit(batch.flat_texts, ctx))


class Splitter(Operator):
    """Makes any number of samples from each sample."""

    kind = "splitter"

    @abstractmethod
    def split(self, batch: Batch, ctx: Context) -> tuple["Positions", Mapping[str, Any]]:
        """The new samples.

        Returns:
            For each new sample the position of its parent in the batch, ascending; and the columns in which the new
            samples differ from their parents, with a value for each new sample.
        """

    def run(self, batch: Batch, ctx: Context) -> Batch:
        parents, columns = self.split(batch, ctx)
        refuse_private(columns)
        parents = checked_positions("the parents that split returned", parents, len(batch))
        if (np.diff(parents) < 0).any():
            raise ReturnedError("the parents that split returned are not in ascending order")
        ids, ordinal, last = batch.ids, 0, -1
        children: list[str] = []
        for parent in parents.tolist():
            ordinal = ordinal + 1 if parent == last else 0
            children.append(f"{ids[parent]}/{ordinal}")
            last = parent
        return batch.take(parents).with_columns(columns).with_ids(children).opened()


class Deduplicator(Keyed):
    """Removes duplicate samples: the first sample of each group of duplicates stays.

    It works in two phases: signatures are computed block by block on any worker; then one process looks at all
    signatures. A `Partitioned` deduplicator divides this look among several tasks.

    Attributes:
        takes_missing: Whether it can process samples of which none has the key.
    """

    kind = "deduplicator"

    @abstractmethod
    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        """A table with a row of fixed size for each sample."""

    @abstractmethod
    def duplicates(self, signatures: Iterable[pa.Table]) -> Duplicates:
        """Find duplicates among the samples.

        Args:
            signatures: The signatures of all samples, in order, as tables. In a run, each iteration reads them from
                files.

        Returns:
            A mask over all samples, and for each sample the position of the sample that it repeats; -1 if it is kept.
        """

    def run(self, batch: Batch, ctx: Context) -> Batch:
        return batch.take(self.checked_duplicates(self._tables(batch, ctx), len(batch))[0])

    def mark(self, batch: Batch, ctx: Context) -> Batch:
        _, originals = self.checked_duplicates(self._tables(batch, ctx), len(batch))
        firsts = [None if first < 0 else first for first in originals.tolist()]
        return batch.with_columns({"__dj__duplicate_of": firsts})

    def checked_duplicates(self, signatures: Iterable[pa.Table], count: int) -> Duplicates:
        """The checked result of `duplicates`, for all samples."""
        keep, originals = self.duplicates(signatures)
        mask = checked_mask("the mask that duplicates returned", keep, count)
        check_count("what duplicates returned as originals", originals, count)
        return mask, np.asarray(originals, dtype=np.int64)

    def _tables(self, batch: Batch, ctx: Context) -> list[pa.Table]:
        return [self.checked_signatures(part, ctx) for part in batch.slices(self.batch_size)]


class Selector(Operator):
    """Chooses samples by some columns of all samples, in one process."""

    kind = "selector"

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The columns and paths that `select` receives."""

    @abstractmethod
    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "Positions":
        """The positions of the chosen samples, each once, in the order of the output.

        Args:
            columns: The columns of `reads`, with a value for each sample; None if it has none.
            count: The number of samples.
            ctx: The context, with the seed.
        """

    def gathered(self, path: str) -> Any:
        """Collects the values of a path for `select`, by `extend`: a list, or an object that takes less memory."""
        del path
        return list[Any]()

    def order(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> Chunks:
        """The result of `select`, in chunks."""
        return whole(self.chosen(columns, count, ctx))

    def run(self, batch: Batch, ctx: Context) -> Batch:
        columns = {path: batch.column(path) for path in self.reads}
        return batch.take(self.chosen(columns, len(batch), ctx))

    def chosen(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "Positions":
        """The checked result of `select`."""
        return checked_positions("what select returned", self.select(columns, count, ctx), count, once=True)


class Grouper(Operator):
    """Groups samples, in one process; an aggregator makes one sample from each group."""

    kind = "grouper"

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The columns and paths that `group` receives."""

    @abstractmethod
    def group(self, columns: Mapping[str, Sequence[Any]], count: int) -> "list[Positions]":
        """The positions of the samples of each group, each once; groups are in the order of their first samples.

        A sample may be in several groups, or in none.

        Args:
            columns: The columns of `reads`, with a value for each sample; None if it has none.
            count: The number of samples.
        """

    def groups(self, batch: Batch) -> list[Batch]:
        """A batch for each group."""
        columns = {path: batch.column(path) for path in self.reads}
        return [batch.take(group) for group in self.checked_groups(columns, len(batch))]

    def checked_groups(self, columns: Mapping[str, Sequence[Any]], count: int) -> "list[Positions]":
        """The checked result of `group`, without empty groups."""
        groups = enumerate(self.group(columns, count))
        found = [
            checked_positions(f"group {number} that group returned", group, count, once=True)
            for number, group in groups
        ]
        return [group for group in found if len(group)]

    def merged(self, group: Batch) -> Batch:
        """One sample, whose columns are lists, of the samples of a group."""
        return Batch([self._lists(group)], roles=group.roles)

    def run(self, batch: Batch, ctx: Context) -> Batch:
        """A sample for each group."""
        return Batch([self._lists(group) for group in self.groups(batch)], roles=batch.roles)

    def _lists(self, group: Batch) -> dict[str, list[Any]]:
        names = group.column_names
        if group.is_open:
            # The columns of other groups would depend on which samples are processed together.
            samples = group.samples()
            names = [name for name in names if any(name in sample for sample in samples)]
        return {name: group.column(text_of((name,))) for name in names}


class Aggregator(Operator):
    """Makes one sample from a group."""

    kind = "aggregator"

    @property
    def columns_made(self) -> tuple[str, ...] | None:
        """The columns of the samples that the aggregator makes; None if unknown until it runs."""
        return None

    @abstractmethod
    def aggregate(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        """The sample for a group.

        Args:
            batch: The samples of one group, never empty.
            ctx: The context, with seed, device and models.
        """

    def run(self, batch: Batch, ctx: Context) -> Batch:
        """Make one sample from the whole batch."""
        if not len(batch):
            return Batch([], roles=batch.roles)
        sample = dict(self.aggregate(batch, ctx))
        refuse_private(sample)
        return Batch([sample], roles=batch.roles)


class FusedOp(Operator):
    """Several operators that run on a batch one after another, and share values that were read and decoded.

    The batch is processed in parts of the smallest `rows_at_once` of the operators, so that few decoded media are in
    memory. Operators that need all data (deduplicators, selectors, groupers, aggregators) are refused.

    Attributes:
        operators: The operators in order.
        LOCAL: The allowed kinds, which process each sample alone.
    """

    kind = "fused"
    operators: list[Operator]

    LOCAL: ClassVar[frozenset[str]] = frozenset({"mapper", "filter", "splitter", "fused"})

    def check(self) -> None:
        for operator in self.operators:
            if operator.kind not in self.LOCAL:
                raise ParameterError(self.name, "operators", f"{operator.name} needs all data and cannot be fused")

    def resolve(self) -> None:
        for operator in self.operators:
            operator.resolve()

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for operator in self.operators for path in operator.reads))

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for operator in self.operators for path in operator.writes))

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return tuple(folder for operator in self.operators for folder in operator.media_dirs)

    @property
    def models(self) -> dict[str, Model]:
        return {
            f"operators[{number}].{name}": model
            for number, operator in enumerate(self.operators)
            for name, model in operator.models.items()
        }

    @property
    def needed_files(self) -> list[NeededFile]:
        return [file for operator in self.operators for file in operator.needed_files]

    @property
    def depends_on_batch(self) -> bool:
        return any(operator.depends_on_batch for operator in self.operators)

    def run(self, batch: Batch, ctx: Context) -> Batch:
        return self._through(batch, ctx, "run")

    def mark(self, batch: Batch, ctx: Context) -> Batch:
        return self._through(batch, ctx, "mark")

    def _through(self, batch: Batch, ctx: Context, method: str) -> Batch:
        size = min((operator.rows_at_once for operator in self.operators), default=len(batch) or 1)
        done: list[Batch] = []
        for part in batch.slices(size):
            for operator in self.operators:
                part = getattr(operator, method)(part, ctx)  # noqa: PLW2901 - the part is replaced after each operator
            done.append(part.forgotten())
        return Batch.joined(done) if done else batch


def _with_absent(batch: Batch, name: str, values: Any) -> Any:
    """New values of a column, with `REMOVED` instead of None for samples without the column.

    An operator sees such a sample as one whose value is None, because others in the batch have the column; whether they
    do must not change the sample.
    """
    check_count(f"the column {name!r}", values, len(batch))
    listed = values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)
    if not any(value is None for value in listed):
        return values
    return [
        REMOVED if value is None and name not in sample else value
        for value, sample in zip(listed, batch.samples(), strict=True)
    ]
