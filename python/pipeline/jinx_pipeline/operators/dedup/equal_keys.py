"""Deduplicators for which samples repeat each other when some of their keys are equal."""

from typing import ClassVar

import pyarrow as pa

from jinx_pipeline.dedup.pairs import equal_pairs
from jinx_pipeline.operators.api.hash_keys import HashKeys
from jinx_pipeline.operators.api.keyed import Keys
from jinx_pipeline.operators.dedup.connected import ConnectedDeduplicator


class EqualKeysDeduplicator(HashKeys, ConnectedDeduplicator):
    """Samples that have an equal key are duplicates, and so is what these connect.

    Attributes:
        first_by: A column of the signatures with integers: the sample with the least one is the first of its cluster;
            empty: the order of the samples.
    """

    first_by: ClassVar[str] = ""

    @property
    def more_columns(self) -> list[str]:
        return [self.first_by] if self.first_by else []

    @property
    def finds_firsts(self) -> bool:
        # With one key that is equal, all pairs have the first sample of their cluster.
        return self.kinds == 1 and not self.first_by

    def look(self, keys: Keys, look: int) -> pa.Table:
        return equal_pairs(keys.read(look), self.first_by)
