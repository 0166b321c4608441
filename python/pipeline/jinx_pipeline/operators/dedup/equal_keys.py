"""Deduplicators for which samples are duplicates if any of their keys are equal."""

from typing import ClassVar

import pyarrow as pa

from jinx_pipeline.dedup.pairs import equal_pairs
from jinx_pipeline.operators.api.hash_keys import HashKeys
from jinx_pipeline.operators.api.keyed import Keys
from jinx_pipeline.operators.dedup.connected import ConnectedDeduplicator


class EqualKeysDeduplicator(HashKeys, ConnectedDeduplicator):
    """Samples with an equal key are duplicates, and so are all samples that such pairs connect.

    Attributes:
        first_by: A column of the signatures with integers; the sample with the least integer is the first of its
            cluster. Empty: the first in the order of the samples.
    """

    first_by: ClassVar[str] = ""

    @property
    def extra_columns(self) -> list[str]:
        return [self.first_by] if self.first_by else []

    @property
    def finds_firsts(self) -> bool:
        # With a single key, all pairs contain the first sample of their cluster.
        return self.kinds == 1 and not self.first_by

    def look(self, keys: Keys, look: int) -> pa.Table:
        return equal_pairs(keys.read(look), self.first_by)
