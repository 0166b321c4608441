"""Filters by existing values of samples, which compute no statistics."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class ConditionFilter(Filter):
    """Keeps samples for which a condition holds."""

    @abstractmethod
    def holds(self, batch: Batch) -> "npt.NDArray[np.bool_]":
        """A mask of the samples for which the condition holds, bool of shape (n,)."""

    def run(self, batch: Batch, ctx: Context) -> Batch:
        return batch.take(self.holds(batch))

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        del batch, ctx
        return {}

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        raise TypeError(f"{self.name} keeps no samples by statistics; it looks at {', '.join(self.reads)}")
