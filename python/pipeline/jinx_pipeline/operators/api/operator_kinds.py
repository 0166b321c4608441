"""The kinds of operators besides filters, each with the method that a subclass writes."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from jinx_pipeline.exchange.chunks import Chunks, whole
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Keyed
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.returned import ReturnedError, check_count, checked_mask, checked_positions
from jinx_pipeline.sample.paths import text_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]
    Positions = npt.NDArray[np.int64]

Edited: TypeAlias = "pa.Array | Sequence[str | None]"
Duplicates: TypeAlias = "tuple[Mask, Positions]"


class Mapper(Operator):
    """Changes columns of each sample, or adds some."""

    kind = "mapper"

    @abstractmethod
    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        """The columns that changed, each with a value for each sample; none where nothing changed."""

    def run(self, batch: Batch, ctx: Context) -> Batch:
        made = batch.with_columns(self.process(batch, ctx))
        return made if self.writes else made.opened()


class TextMapper(Mapper):
    """Edits each text of a sample."""

    kind = "mapper"

    @abstractmethod
    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        """The edited texts; None for one that stays as it is.

        Args:
            texts: Arrow strings, without nulls: the texts of all samples.
            ctx: Seed and threads.
        """

    @property
    def writes(self) -> tuple[str, ...]:
        return ("text",)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        return batch.with_texts_as(self.edit(batch.flat_texts, ctx))


class Splitter(Operator):
    """Makes any number of samples of each one."""

    kind = "splitter"

    @abstractmethod
    def split(self, batch: Batch, ctx: Context) -> tuple["Positions", Mapping[str, Any]]:
        """The new samples.

        Returns:
            For each new sample the position in the batch of the one that it comes from, ascending; and the columns in
            which they differ from it, with a value for each new sample.
        """

    def run(self, batch: Batch, ctx: Context) -> Batch:
        parents, columns = self.split(batch, ctx)
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
    """Leaves out samples that repeat others: the first of each group of duplicates stays.

    Works in two phases: a signature of each sample, block by block and on any worker; then one look at all signatures,
    in one process. A `Partitioned` one looks in several tasks.

    Attributes:
        takes_missing: Whether it has a use for samples of which none has the key.
    """

    kind = "deduplicator"

    @abstractmethod
    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        """A row of fixed size for each sample."""

    @abstractmethod
    def duplicates(self, signatures: Iterable[pa.Table]) -> Duplicates:
        """Which samples to keep.

        Args:
            signatures: The signatures of all samples, in order, as tables. In a run they are read from files, each
                time that it is iterated.

        Returns:
            A mask over all samples, and for each the position of the sample that it repeats (-1: it is kept).
        """

    def run(self, batch: Batch, ctx: Context) -> Batch:
        return batch.take(self.checked_duplicates(self._tables(batch, ctx), len(batch))[0])

    def mark(self, batch: Batch, ctx: Context) -> Batch:
        _, originals = self.checked_duplicates(self._tables(batch, ctx), len(batch))
        return batch.with_columns({"__dj__duplicate_of": [None if at < 0 else at for at in originals.tolist()]})

    def checked_duplicates(self, signatures: Iterable[pa.Table], count: int) -> Duplicates:
        """What `duplicates` returns, for all samples."""
        keep, originals = self.duplicates(signatures)
        mask = checked_mask("the mask that duplicates returned", keep, count)
        check_count("what duplicates returned as originals", originals, count)
        return mask, np.asarray(originals, dtype=np.int64)

    def _tables(self, batch: Batch, ctx: Context) -> list[pa.Table]:
        return [self.checked_signatures(part, ctx) for part in batch.slices(self.batch_size)]


class Selector(Operator):
    """Chooses samples by a look at some columns of all of them, in one process."""

    kind = "selector"

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The columns and paths that `select` is given."""

    @abstractmethod
    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "Positions":
        """The positions of the chosen samples, in the order in which they come out.

        Args:
            columns: Those of `reads`, with a value (None: there is none) for each sample.
            count: How many samples there are.
            ctx: Seed.
        """

    def order(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> Chunks:
        """As `select`, in chunks."""
        return whole(self.chosen(columns, count, ctx))

    def run(self, batch: Batch, ctx: Context) -> Batch:
        columns = {path: batch.column(path) for path in self.reads}
        return batch.take(self.chosen(columns, len(batch), ctx))

    def chosen(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "Positions":
        """What `select` returns, as positions of samples."""
        return checked_positions("what select returned", self.select(columns, count, ctx), count)


class Grouper(Operator):
    """Puts samples together, in one process; an aggregator makes one sample of each group."""

    kind = "grouper"

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The columns and paths that `group` is given."""

    @abstractmethod
    def group(self, columns: Mapping[str, Sequence[Any]], count: int) -> "list[Positions]":
        """The positions of the samples of each group, groups in the order of their first samples.

        Args:
            columns: Those of `reads`, with a value (None: there is none) for each sample.
            count: How many samples there are.
        """

    def groups(self, batch: Batch) -> list[Batch]:
        """A batch for each group."""
        columns = {path: batch.column(path) for path in self.reads}
        return [batch.take(group) for group in self.checked_groups(columns, len(batch))]

    def checked_groups(self, columns: Mapping[str, Sequence[Any]], count: int) -> "list[Positions]":
        """What `group` returns, as positions of samples."""
        groups = enumerate(self.group(columns, count))
        return [checked_positions(f"group {number} that group returned", group, count) for number, group in groups]

    def run(self, batch: Batch, ctx: Context) -> Batch:
        """A sample for each group, whose columns are lists."""
        rows: list[dict[str, list[Any]]] = []
        for group in self.groups(batch):
            names = group.column_names
            if group.is_open:
                # Columns of other groups would depend on which samples are looked at together.
                samples = group.samples()
                names = [name for name in names if any(name in sample for sample in samples)]
            rows.append({name: group.column(text_of((name,))) for name in names})
        return Batch(rows, roles=batch.roles)


class Aggregator(Operator):
    """Makes one sample of a group."""

    kind = "aggregator"

    @property
    def columns_made(self) -> tuple[str, ...] | None:
        """The columns of its samples; None: they are known when it runs."""
        return None

    @abstractmethod
    def aggregate(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        """The sample.

        Args:
            batch: The samples of one group, never empty.
            ctx: Seed, device, models.
        """

    def run(self, batch: Batch, ctx: Context) -> Batch:
        """Everything is one group."""
        return Batch([dict(self.aggregate(batch, ctx))] if len(batch) else [], roles=batch.roles)


class FusedOp(Operator):
    """Several operators that run on a batch one after another, so that they share what it has read and decoded.

    The batch is taken in parts of the smallest `batch_size` of the operators, so that few decoded media are in memory.
    Operators of kinds that need all data (deduplicators, selectors, groupers, aggregators) are refused.

    Attributes:
        operators: The operators in order.
        LOCAL: The kinds that it takes: they need no other samples.
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
        size = min((operator.batch_size for operator in self.operators), default=len(batch) or 1)
        done: list[Batch] = []
        for part in batch.slices(size):
            for operator in self.operators:
                part = getattr(operator, method)(part, ctx)  # noqa: PLW2901 - one part on its way
            done.append(part.forgotten())
        return Batch.joined(done) if done else batch
