"""Deduplicators that remove parts of samples, such as lines, and no samples."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Edits
from jinx_pipeline.operators.api.operator_kinds import Deduplicator, Duplicates, Mapper

if TYPE_CHECKING:
    import numpy.typing as npt

    Keys = npt.NDArray[np.uint64]


class PartDeduplicator(Deduplicator, Edits):
    """Removes parts that repeat in the whole dataset from each sample.

    Works in three phases: signatures of the parts of each sample, block by block and on any worker; one look at all
    signatures, for the keys of what is to be removed; then the edit of each sample, again on any worker.
    """

    @abstractmethod
    def repeated(self, signatures: Iterable[pa.Table]) -> "Keys":
        """The keys of the parts to remove, ascending.

        Args:
            signatures: Those of all samples, in order.
        """

    @abstractmethod
    def edit(self, batch: Batch, keys: "Keys", ctx: Context) -> Mapping[str, Any]:
        """The columns that changed, each with a value for each sample, when the parts with these keys go."""

    @property
    def writes(self) -> tuple[str, ...]:
        return ("text",)

    def duplicates(self, signatures: Iterable[pa.Table]) -> Duplicates:
        count = sum(table.num_rows for table in signatures)
        return np.ones(count, dtype=np.bool_), np.full(count, -1, dtype=np.int64)

    def run(self, batch: Batch, ctx: Context) -> Batch:
        return batch.with_columns(self.edit(batch, self.repeated(self._tables(batch, ctx)), ctx))

    def mark(self, batch: Batch, ctx: Context) -> Batch:
        return self.run(batch, ctx)

    def editor(self, keys: str) -> "PartEditor":
        """The third phase alone."""
        made = PartEditor(deduplicator=self, keys=Path(keys))
        made.name = self.name  # pyright: ignore[reportAttributeAccessIssue] - of this one alone
        return made


class PartEditor(Mapper):
    """Removes the parts that a deduplicator has found.

    Attributes:
        deduplicator: It.
        keys: The file (.npy) with the keys of the parts.
    """

    deduplicator: PartDeduplicator
    keys: Path

    @property
    def reads(self) -> tuple[str, ...]:
        return self.deduplicator.reads

    @property
    def writes(self) -> tuple[str, ...]:
        return self.deduplicator.writes

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        return self.deduplicator.edit(batch, ctx.model(str(self.keys), _load_keys), ctx)


def _load_keys(path: str, device: str) -> "Keys":
    del device
    return np.load(path)
