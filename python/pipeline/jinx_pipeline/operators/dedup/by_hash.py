"""The base class of deduplicators by exact hashes."""

from abc import abstractmethod
from typing import TYPE_CHECKING

import pyarrow as pa

from jinx_pipeline.dedup.exact import HASH, hash_table
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.dedup.equal_keys import EqualKeysDeduplicator

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class HashDeduplicator(EqualKeysDeduplicator):
    """Samples with the same 128-bit hash are duplicates."""

    @property
    def key_columns(self) -> list[list[str]]:
        return [list(HASH)]

    @abstractmethod
    def hashes(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_] | None]":
        """The hashes, uint64 of shape (n, 2), and a mask of samples that are never duplicates, if there are any."""

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        return hash_table(*self.hashes(batch, ctx))
