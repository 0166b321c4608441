"""Operators that decide by which samples have equal values; a task takes a part of the values."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from jinx import kernels
from jinx_pipeline.dedup.exact import HASH, hash_table
from jinx_pipeline.dedup.pairs import equal_groups
from jinx_pipeline.dedup.signatures import ROWS_AT_ONCE
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Divided, Keys

if TYPE_CHECKING:
    import numpy.typing as npt

    Positions = npt.NDArray[np.int64]


class EqualValues(Divided):
    """Finds samples with equal values, by hashes of 128 bits."""

    @abstractmethod
    def value_texts(self, batch: Batch) -> list[str]:
        """The value of each sample as a string; equal values are equal strings."""

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        return hash_table(kernels.hash128(self.value_texts(batch), threads=ctx.threads))

    def shares(self, keys: Keys) -> int:
        return keys.shares_of(len(keys), ROWS_AT_ONCE)

    def look(self, keys: Keys, share: int, shares: int) -> pa.Table:
        return equal_groups(keys.tables, list(HASH), share, shares)

    def in_groups(self, found: Sequence[pa.Table]) -> "tuple[Positions, Positions]":
        """All positions, in the order of their groups, and for each that of the first sample of its group."""
        places, firsts = (
            np.concatenate([np.empty(0, np.int64), *(one[name].to_numpy() for one in found)])
            for name in ("place", "first")
        )
        order = np.lexsort((places, firsts))
        return places[order], firsts[order]
