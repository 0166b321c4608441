"""Operators that find samples with equal values; each task processes a partition of the values."""

from abc import abstractmethod

import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.dedup.exact import HASH, hash_table
from jinx_pipeline.dedup.pairs import equal_groups
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.hash_keys import HashKeys
from jinx_pipeline.operators.api.keyed import Keys, Partitioned


class EqualValues(HashKeys, Partitioned):
    """Finds samples with equal values, by 128-bit hashes.

    The result of a look has the positions of all samples of its partition (`place`), each with the position of the
    first sample that has the same value (`first`), in the order of `first` and then of `place`.
    """

    @abstractmethod
    def value_texts(self, batch: Batch) -> list[str]:
        """The value of each sample as a string; equal values are equal strings."""

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        return hash_table(kernels.hash128(self.value_texts(batch), threads=ctx.threads))

    @property
    def key_columns(self) -> list[list[str]]:
        return [list(HASH)]

    def look(self, keys: Keys, look: int) -> pa.Table:
        return equal_groups(keys.read(look))
