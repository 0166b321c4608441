"""Operators that look at the keys of all samples, in tasks that each process a partition of the keys."""

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
from jinx_pipeline.store.mirror import local

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bounds = npt.NDArray[np.int64]

# The memory of a task per key: the key, its position, and the sort order.
_BYTES_PER_KEY = 128


@dataclass(frozen=True)
class Decision:
    """The decision of an operator about all samples.

    Attributes:
        order: The positions of the remaining samples, in the order of the output.
        bounds: The bounds of groups in `order`; None for no groups.
        repeats: Duplicate samples, as tables of positions in the columns `later` and `first`, each in the order of
            `later`.
        keys: The data that the operator needs to edit samples; None if it edits none.
        counts: Counts to report, such as samples without a key.
    """

    order: Chunks
    bounds: Chunks | None = None
    repeats: Sequence[pa.Table] = ()
    keys: "Chunks | npt.NDArray[np.generic] | None" = None
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Keys:
    """The keys of all samples, and how they are divided among tasks.

    Attributes:
        files: The key files, in the order of the samples.
        division: The division of the keys among tasks.
        folder: The directory for temporary files.
        other: The keys of the dataset that a join adds.
    """

    files: KeyFiles
    division: Division
    folder: str
    other: KeyFiles = field(default_factory=KeyFiles)

    def __len__(self) -> int:
        return sum(header.samples for header in self.files.headers())

    @property
    def folder_here(self) -> str:
        """The directory for temporary files, on this node."""
        folder = local(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    @property
    def looks(self) -> int:
        """The number of tasks."""
        return self.division.kinds * self.division.looks

    def kind(self, look: int) -> int:
        """The kind of key that a task looks at."""
        return look // self.division.looks

    def read(self, look: int) -> Iterator[tuple[int, pa.Table]]:
        """The keys of a task from each file, with the number of samples in the files before it."""
        return self.files.read(*self.division.sections(look))

    def read_other(self, look: int) -> Iterator[tuple[int, pa.Table]]:
        """The keys of a task from each file of the other dataset."""
        return self.other.read(*self.division.sections(look))


class Keyed(Operator):
    """Looks at the keys of all samples, which are computed block by block on any worker.

    Attributes:
        takes_missing: Whether it can process samples if none of them has the key.
    """

    takes_missing: ClassVar[bool] = False

    @abstractmethod
    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        """A table with a row for each sample."""

    def checked_signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        """The result of `signatures`, after checking the number of rows."""
        table = self.signatures(batch, ctx)
        check_count("the table that signatures returned", table, len(batch))
        return table


class Exchanged(Keyed):
    """An operator whose keys are written in partitions, so that a later task reads one partition of every block."""

    @property
    def kinds(self) -> int:
        """The number of kinds of keys of a sample; each kind is processed separately."""
        return 1

    @abstractmethod
    def key_table(self, signatures: pa.Table, kind: int) -> pa.Table:
        """The keys of one kind, in the order of the samples; all kinds have the same columns.

        Args:
            signatures: The signatures of some samples.
            kind: The kind, from 0 to `kinds` - 1.
        """

    @abstractmethod
    def partitioned(self, keys: pa.Table, kind: int, partitions: int, edges: Any) -> "tuple[pa.Table, Bounds]":
        """Keys in the order of their partitions, and the `partitions + 1` bounds of the partitions.

        Keys of equal partition and value stay in their order.

        Args:
            keys: A table of `key_table`.
            kind: The kind of the keys.
            partitions: The number of partitions.
            edges: The result of `edges`, or None.
        """

    def sample(self, keys: pa.Table) -> pa.Table | None:
        """Some keys of a block for `edges`; None if not needed."""
        del keys
        return None

    def edges(self, samples: Iterator[pa.Table], partitions: int) -> Any:
        """The edges of partitions, from the sampled keys of all blocks, if they depend on the keys."""
        del samples, partitions


class Partitioned(Exchanged):
    """Looks at all keys in tasks, each of which processes a partition of them.

    Attributes:
        most_keys: The maximum number of keys of a task, if it has the memory: about 400 MB.
        keys_per_sample: A typical number of keys of one kind of a sample.
        other_is_input: Whether the other dataset is the last input of its step, which the run writes and `bind` names.
    """

    other_is_input: ClassVar[bool] = False
    most_keys: ClassVar[int] = 8_000_000
    keys_per_sample: ClassVar[int] = 1

    @abstractmethod
    def look(self, keys: Keys, look: int) -> pa.Table:
        """The result of one task, which depends only on the arguments.

        Args:
            keys: All keys.
            look: The number of the task, from 0 to `keys.looks` - 1.
        """

    @abstractmethod
    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        """The decision, from the results of the tasks, in their order."""

    def keys_at_once(self, memory: int | None) -> int:
        """The maximum number of keys of a task.

        Args:
            memory: Bytes that it may use; None for no limit.
        """
        return self.most_keys if memory is None else max(min(self.most_keys, memory // 2 // _BYTES_PER_KEY), 1)

    def partitions(self, samples: int, max_keys: int) -> int:
        """The number of partitions for the keys, before they are known.

        Args:
            samples: The number of samples.
            max_keys: The maximum number of keys of a task.
        """
        return max(-(-samples * self.keys_per_sample // max_keys), 1)

    @property
    def other(self) -> tuple[str, Exchanged] | None:
        """The path of another dataset whose keys are needed, and the operator that computes them, if any."""
        return None

    def bind(self, path: str) -> None:
        """If `other_is_input`, set the path of the other dataset, once it is written."""
        raise NotImplementedError(f"{self.name} names its other dataset itself: {path} is not needed")

    def signatures_of_other(self, ctx: Context) -> Sequence[pa.Table]:
        """The signatures of the other dataset, computed in this process."""
        del ctx
        return ()

    def decided(
        self, tables: Sequence[pa.Table], folder: str, other: Sequence[pa.Table] = (), memory: int | None = None
    ) -> Decision:
        """The decision about samples with these signatures, made in this process.

        Args:
            tables: The signatures of all samples, in order.
            folder: The directory for temporary files.
            other: The signatures of the other dataset.
            memory: Bytes that a look may use; None for no limit.
        """
        if not tables:
            return Decision(Chunks(lambda: iter(())))
        files, other_files, division = exchanged(self, tables, other, self.keys_at_once(memory))
        keys = Keys(files, division, folder, other_files)
        return self.decide(keys, [self.look(keys, look) for look in range(keys.looks)])

    def run(self, batch: Batch, ctx: Context) -> Batch:
        if not len(batch):
            return batch
        tables = [self.checked_signatures(part, ctx) for part in batch.slices(self.batch_size)]
        with TemporaryDirectory(prefix="jinx-pipeline-") as folder:
            return self.apply(batch, self.decided(tables, folder, self.signatures_of_other(ctx)), ctx)

    def apply(self, batch: Batch, decision: Decision, ctx: Context) -> Batch:
        """Apply a decision to a batch that contains all samples."""
        del ctx
        return batch.take(decision.order.array())


class Edits:
    """A global operator that also edits each sample after its decision."""

    @abstractmethod
    def editor(self, keys: str) -> Operator:
        """The operator that edits samples after the decision.

        Args:
            keys: The file (.npy) with the `keys` of the decision.
        """
