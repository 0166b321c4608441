"""Deduplicators that find pairs by partition; one sample stays of each cluster that pairs connect."""

from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from jinx_pipeline.dedup.pairs import clustered
from jinx_pipeline.exchange.chunks import Chunks, by_range
from jinx_pipeline.exchange.numbers import numbers_of
from jinx_pipeline.operators.api.keyed import Decision, Keys, Partitioned
from jinx_pipeline.operators.api.operator_kinds import Deduplicator, Duplicates

if TYPE_CHECKING:
    import numpy.typing as npt


class ConnectedDeduplicator(Deduplicator, Partitioned):
    """A deduplicator whose tasks find pairs: positions in the columns `later` and `first`, in the order of `later`."""

    @property
    def finds_firsts(self) -> bool:
        """Whether each pair contains the first sample of its cluster, so that pairs need not be joined to clusters."""
        return False

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        count = len(keys)
        repeats = looks if self.finds_firsts else [clustered(count, looks)]
        return Decision(Chunks(lambda: _kept_positions(repeats, count)), repeats=repeats)

    def duplicates(self, signatures: Iterable[pa.Table]) -> Duplicates:
        tables = list(signatures)
        if tables:
            # One file of keys for each of many small tables would spend most of the time on opening files.
            tables = [pa.concat_tables(tables)]
        with TemporaryDirectory(prefix="jinx-pipeline-") as folder:
            decision = self.decided(tables, folder)
        originals = np.full(sum(table.num_rows for table in tables), -1, dtype=np.int64)
        for table in decision.repeats:
            originals[numbers_of(table, "later")] = numbers_of(table, "first")
        return originals < 0, originals


def _kept_positions(repeats: Sequence[pa.Table], count: int) -> "Iterator[npt.NDArray[np.int64]]":
    """The positions of samples that are not duplicates."""
    for first, stop, pairs in by_range(repeats, "later", count):
        is_kept = np.ones(stop - first, np.bool_)
        is_kept[numbers_of(pairs, "later") - first] = False
        yield np.flatnonzero(is_kept) + first
