"""Deduplicators for which samples repeat each other when some of their keys are equal."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from jinx_pipeline.dedup.near import first_of_clusters
from jinx_pipeline.dedup.pairs import equal_pairs, joined_pairs
from jinx_pipeline.dedup.signatures import ROWS_AT_ONCE, count_rows
from jinx_pipeline.operators.api.keyed import Decision, Divided, Keys
from jinx_pipeline.operators.api.operator_kinds import Deduplicator, Duplicates


class EqualKeysDeduplicator(Deduplicator, Divided):
    """Samples that have an equal key are duplicates, and so is what these connect.

    A task looks at one of the keys, or at a part of its values, and finds pairs; their clusters are put together from
    the pairs alone.

    Attributes:
        first_by: A column of the signatures with integers: the sample with the least one is the first of its cluster;
            empty: the order of the samples.
    """

    first_by: ClassVar[str] = ""

    @property
    @abstractmethod
    def equal_columns(self) -> list[list[str]]:
        """For each key the columns of the signatures that it consists of."""

    def shares(self, keys: Keys) -> int:
        return len(self.equal_columns) * keys.shares_of(len(keys), ROWS_AT_ONCE)

    def look(self, keys: Keys, share: int, shares: int) -> pa.Table:
        columns = self.equal_columns
        return equal_pairs(keys.tables, columns[share % len(columns)], share // len(columns), shares // len(columns))

    def decide(self, keys: Keys, found: Sequence[pa.Table]) -> Decision:
        keep, originals = self._first_ones(keys, found)
        return Decision(np.flatnonzero(keep).astype(np.int64), originals=originals)

    def duplicates(self, signatures: Iterable[pa.Table]) -> Duplicates:
        count_rows(signatures)  # refuses what can be read only once
        keys = Keys(list(signatures), "")
        return self._first_ones(keys, self.looks(keys) if keys.tables else [])

    def _first_ones(self, keys: Keys, found: Iterable[pa.Table]) -> Duplicates:
        return first_of_clusters(joined_pairs(len(keys), found), keys.tables, self.first_by or None)
