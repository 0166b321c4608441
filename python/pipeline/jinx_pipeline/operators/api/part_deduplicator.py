"""Deduplicators that remove parts of samples, such as lines, instead of samples."""

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
from jinx_pipeline.store.mirror import fetched

if TYPE_CHECKING:
    import numpy.typing as npt

    Keys = npt.NDArray[np.uint64]


class PartDeduplicator(Deduplicator, Edits):
    """Removes parts that are repeated in the dataset from each sample.

    It works in three phases: signatures of the parts of each sample are computed block by block on any worker; a look
    at all signatures finds the keys of the parts to remove; then each sample is edited, again on any worker.
    """

    @abstractmethod
    def repeated(self, signatures: Iterable[pa.Table]) -> "Keys":
        """The keys of the parts to remove, ascending.

        Args:
            signatures: The signatures of all samples, in order.
        """

    @abstractmethod
    def edit(self, batch: Batch, keys: "Keys", ctx: Context) -> Mapping[str, Any]:
        """The changed columns, each with a value for each sample, after removing the parts with these keys."""

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
        """The operator for the third phase."""
        editor = PartEditor(deduplicator=self, keys=Path(keys))
        editor.name = self.name  # pyright: ignore[reportAttributeAccessIssue] - only for this instance
        return editor


class PartEditor(Mapper):
    """Removes from each sample the parts that a deduplicator found.

    Attributes:
        deduplicator: The deduplicator.
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
    return np.load(fetched(path))
