"""Operators that look at all samples by a key of each, in tasks that take a share of the keys."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa

from jinx_pipeline.operators.base import Operator
from jinx_pipeline.operators.batch import Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.returned import check_count

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Positions = npt.NDArray[np.int64]

# What a task needs for each: the key, its position, and their order.
_BYTES_OF_A_KEY = 128


@dataclass(frozen=True)
class Decision:
    """What an operator has decided about all samples.

    Attributes:
        order: The positions of those that remain, in the order in which they come out.
        bounds: Places in `order` between which groups lie; None: no groups.
        originals: For each sample the position of the one that it repeats, -1 where it repeats none; None: unknown.
        keys: What the operator's edit of all samples needs; None: it edits none.
        counts: What people should know, such as samples without a key.
    """

    order: "Positions"
    bounds: "Positions | None" = None
    originals: "Positions | None" = None
    keys: "npt.NDArray[np.generic] | None" = None
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Keys:
    """The keys of all samples.

    Attributes:
        tables: Those that `signatures` made, in the order of the samples. They may be read from files again each time.
        folder: For temporary files.
        other: The keys of the dataset that a join adds.
        memory: Bytes that a task may use; None: no limit.
    """

    tables: Sequence[pa.Table]
    folder: str
    other: Sequence[pa.Table] = ()
    memory: int | None = None

    def __len__(self) -> int:
        return sum(table.num_rows for table in self.tables)

    def shares_of(self, rows: int, most: int) -> int:
        """Into how many tasks so many keys are divided, so that each has `most` of them, or what fits its memory."""
        if self.memory is not None:
            most = max(min(most, self.memory // 2 // _BYTES_OF_A_KEY), 1)
        return max(-(-rows // most), 1)

    def placed(self) -> Iterator[tuple[int, pa.Table]]:
        """Each table with the position of its first sample."""
        start = 0
        for table in self.tables:
            yield start, table
            start += table.num_rows


class Keyed(Operator):
    """Looks at a key of every sample: keys are computed block by block on any worker, and then looked at together."""

    @abstractmethod
    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        """A row for each sample."""

    def checked_signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        """What `signatures` returns, with as many rows."""
        table = self.signatures(batch, ctx)
        check_count("the table that signatures returned", table, len(batch))
        return table


class Divided(Keyed):
    """Looks at all keys in several tasks, each of which takes a share of them; what they find is small."""

    @abstractmethod
    def shares(self, keys: Keys) -> int:
        """Into how many tasks the look is divided."""

    @abstractmethod
    def look(self, keys: Keys, share: int, shares: int) -> pa.Table:
        """What one task finds; it depends on the arguments alone, whatever worker runs it."""

    @abstractmethod
    def decide(self, keys: Keys, found: Sequence[pa.Table]) -> Decision:
        """The decision, from what the tasks have found, in their order."""

    @property
    def other(self) -> tuple[str, Keyed] | None:
        """The path of a dataset whose keys are needed as well, and what computes them; None: there is none."""
        return None

    def keys_of_other(self, ctx: Context) -> Sequence[pa.Table]:
        """The keys of that dataset, in this process."""
        del ctx
        return ()

    def looks(self, keys: Keys) -> list[pa.Table]:
        """What all tasks find, in this process."""
        shares = self.shares(keys)
        return [self.look(keys, share, shares) for share in range(shares)]

    def run(self, batch: Batch, ctx: Context) -> Batch:
        if not len(batch):
            return batch
        tables = [self.checked_signatures(part, ctx) for part in batch.slices(self.batch_size)]
        with TemporaryDirectory(prefix="jinx-pipeline-") as folder:
            keys = Keys(tables, folder, self.keys_of_other(ctx))
            return self.apply(batch, self.decide(keys, self.looks(keys)), ctx)

    def apply(self, batch: Batch, decision: Decision, ctx: Context) -> Batch:
        """What a decision makes of a batch that holds all samples."""
        del ctx
        return batch.take(decision.order)


class Edits:
    """A global operator that also edits each sample, when it has decided."""

    @abstractmethod
    def editor(self, keys: str) -> Operator:
        """The edit, as an operator of the next segment.

        Args:
            keys: The file (.npy) with the `keys` of the decision.
        """
