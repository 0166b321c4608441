"""Operators that look at all samples by keys of each, in tasks that take a partition of the keys."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from jinx_pipeline.exchange.chunks import Chunks
from jinx_pipeline.exchange.division import Division
from jinx_pipeline.exchange.key_file import KeyFiles
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.key_exchange import exchanged
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.returned import check_count

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bounds = npt.NDArray[np.int64]

# What a task needs for each: the key, its position, and their order.
_BYTES_OF_A_KEY = 128


@dataclass(frozen=True)
class Decision:
    """What an operator has decided about all samples.

    Attributes:
        order: The positions of those that remain, in the order in which they come out.
        bounds: Places in `order` between which groups lie; None: no groups.
        repeats: Samples that repeat others, as tables of positions in the columns `later` and `first`, each in the
            order of `later`.
        keys: What the operator's edit of all samples needs; None: it edits none.
        counts: What people should know, such as samples without a key.
    """

    order: Chunks
    bounds: Chunks | None = None
    repeats: Sequence[pa.Table] = ()
    keys: "Chunks | npt.NDArray[np.generic] | None" = None
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Keys:
    """The keys of all samples, and how tasks divide them.

    Attributes:
        files: In the order of the samples.
        division: Of the keys among tasks.
        folder: For temporary files.
        other: The keys of the dataset that a join adds.
    """

    files: KeyFiles
    division: Division
    folder: str
    other: KeyFiles = field(default_factory=KeyFiles)

    def __len__(self) -> int:
        return sum(header.samples for header in self.files.headers())

    @property
    def looks(self) -> int:
        """How many tasks there are."""
        return self.division.kinds * self.division.looks

    def kind(self, look: int) -> int:
        """Which of the keys of a sample a task looks at."""
        return look // self.division.looks

    def read(self, look: int) -> Iterator[tuple[int, pa.Table]]:
        """The keys of a task from each file, with the number of samples before the file."""
        return self.files.read(*self.division.sections(look))

    def read_other(self, look: int) -> Iterator[tuple[int, pa.Table]]:
        """The same of the other dataset."""
        return self.other.read(*self.division.sections(look))


class Keyed(Operator):
    """Looks at a key of every sample: keys are computed block by block on any worker, and then looked at together.

    Attributes:
        takes_missing: Whether it has a use for samples of which none has the key.
    """

    takes_missing: ClassVar[bool] = False

    @abstractmethod
    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        """A row for each sample."""

    def checked_signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        """What `signatures` returns, with as many rows."""
        table = self.signatures(batch, ctx)
        check_count("the table that signatures returned", table, len(batch))
        return table


class Exchanged(Keyed):
    """Has keys that map tasks write in partitions, so that a later task reads one partition of every block."""

    @property
    def kinds(self) -> int:
        """How many keys of different kinds a sample has, each of which is looked at by itself."""
        return 1

    @abstractmethod
    def key_table(self, signatures: pa.Table, kind: int) -> pa.Table:
        """The keys of one kind, in the order of the samples; all kinds have the same columns.

        Args:
            signatures: Those of some samples.
            kind: From 0 to `kinds` - 1.
        """

    @abstractmethod
    def partitioned(self, keys: pa.Table, kind: int, partitions: int, edges: Any) -> "tuple[pa.Table, Bounds]":
        """Keys in the order of their partitions, and the `partitions + 1` places between which these lie.

        Keys of equal partition and value stay in their order.

        Args:
            keys: A table of `key_table`.
            kind: Of the keys.
            partitions: How many.
            edges: What `edges` gave, or None.
        """

    def sample(self, keys: pa.Table) -> pa.Table | None:
        """Some keys of a block for `edges`; None: these are not needed."""
        del keys
        return None

    def edges(self, samples: Iterator[pa.Table], partitions: int) -> Any:
        """Where partitions begin that depend on the keys of all samples; all samples of blocks are given."""
        del samples, partitions


class Partitioned(Exchanged):
    """Looks at all keys in tasks, each of which takes a partition of them.

    Attributes:
        most_keys: How many keys a task takes, if it has the memory: about 400 MB.
        keys_per_sample: How many keys of one kind a sample may well have.
    """

    most_keys: ClassVar[int] = 8_000_000
    keys_per_sample: ClassVar[int] = 1

    @abstractmethod
    def look(self, keys: Keys, look: int) -> pa.Table:
        """What one task finds; it depends on the arguments alone, whatever worker runs it.

        Args:
            keys: All keys.
            look: Which task, from 0 to `keys.looks` - 1.
        """

    @abstractmethod
    def decide(self, keys: Keys, found: Sequence[pa.Table]) -> Decision:
        """The decision, from what the tasks have found, in their order."""

    def keys_at_once(self, memory: int | None) -> int:
        """How many keys a task takes.

        Args:
            memory: Bytes that it may use; None: no limit.
        """
        return self.most_keys if memory is None else max(min(self.most_keys, memory // 2 // _BYTES_OF_A_KEY), 1)

    def partitions(self, samples: int, most: int) -> int:
        """Into how many partitions the keys are written, before they are known.

        Args:
            samples: How many there are.
            most: The keys that a task takes.
        """
        return max(-(-samples * self.keys_per_sample // most), 1)

    @property
    def other(self) -> tuple[str, Exchanged] | None:
        """The path of a dataset whose keys are needed as well, and what computes them; None: there is none."""
        return None

    def signatures_of_other(self, ctx: Context) -> Sequence[pa.Table]:
        """The signatures of that dataset, in this process."""
        del ctx
        return ()

    def decided(
        self, tables: Sequence[pa.Table], folder: str, other: Sequence[pa.Table] = (), memory: int | None = None
    ) -> Decision:
        """The decision about samples with these signatures, in this process.

        Args:
            tables: Signatures of all samples, in order.
            folder: For temporary files.
            other: Those of the other dataset.
            memory: Bytes that a look may use; None: no limit.
        """
        if not tables:
            return Decision(Chunks(lambda: iter(())))
        files, of_other, division = exchanged(self, tables, other, self.keys_at_once(memory))
        keys = Keys(files, division, folder, of_other)
        return self.decide(keys, [self.look(keys, look) for look in range(keys.looks)])

    def run(self, batch: Batch, ctx: Context) -> Batch:
        if not len(batch):
            return batch
        tables = [self.checked_signatures(part, ctx) for part in batch.slices(self.batch_size)]
        with TemporaryDirectory(prefix="jinx-pipeline-") as folder:
            return self.apply(batch, self.decided(tables, folder, self.signatures_of_other(ctx)), ctx)

    def apply(self, batch: Batch, decision: Decision, ctx: Context) -> Batch:
        """What a decision makes of a batch that holds all samples."""
        del ctx
        return batch.take(decision.order.array())


class Edits:
    """A global operator that also edits each sample, when it has decided."""

    @abstractmethod
    def editor(self, keys: str) -> Operator:
        """The edit, as an operator that runs after the decision.

        Args:
            keys: The file (.npy) with the `keys` of the decision.
        """
