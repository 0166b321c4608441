"""The base class of deduplicators by 64-bit hashes that differ in few bits."""

from abc import abstractmethod
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.dedup.near_hashes import block_masks, least_of_groups, near_groups
from jinx_pipeline.dedup.pairs import gathered
from jinx_pipeline.exchange.hashing import mixed
from jinx_pipeline.exchange.key_file import POSITION
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.hash_keys import by_hash
from jinx_pipeline.operators.api.keyed import Keys
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.dedup.connected import ConnectedDeduplicator

if TYPE_CHECKING:
    import numpy.typing as npt

_BITS = 64
_HASH = "hash"
# Each combination of blocks is a key of every sample.
_MAX_CHOICES = 1000


class NearHashDeduplicator(ConnectedDeduplicator):
    """Samples whose hashes differ in few bits are duplicates, and so are all samples that such pairs connect.

    The search is exact. A hash is divided into blocks, and at least `num_blocks - hamming_distance` blocks are equal in
    similar hashes. Samples that agree in any combination of this many blocks are compared, so a sample has a key of 12
    bytes for each combination.

    Attributes:
        num_blocks: The number of blocks of a hash for the search, more than `hamming_distance`; it changes the time and
            the size of the keys.
        hamming_distance: The maximum number of different bits.
    """

    num_blocks: int = 6
    hamming_distance: int = 4

    def check(self) -> None:
        if not 0 <= self.hamming_distance < self.num_blocks <= _BITS:
            distance = self.hamming_distance
            problem = f"num_blocks is {self.num_blocks}; it is more than hamming_distance ({distance}), up to 64"
            raise ParameterError(self.name, "num_blocks", problem)
        if comb(self.num_blocks, self.hamming_distance) > _MAX_CHOICES:
            problem = (
                f"{self.num_blocks} blocks for a distance of {self.hamming_distance} need too many keys; use fewer"
            )
            raise ParameterError(self.name, "num_blocks", problem)

    @abstractmethod
    def hashes(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]":
        """The hashes, uint64 of shape (n,), and a mask of samples that are never duplicates."""

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        hashes, missing = self.hashes(batch, ctx)
        return pa.table({_HASH: pa.array(hashes, mask=missing)})

    @property
    def kinds(self) -> int:
        return len(self._masks())

    def key_table(self, signatures: pa.Table, kind: int) -> pa.Table:
        del kind
        hashes = signatures.column(_HASH).combine_chunks()
        positions = np.flatnonzero(hashes.is_valid().to_numpy(zero_copy_only=False)).astype(np.uint32)
        return pa.table({_HASH: hashes.drop_null(), POSITION: positions})

    def partitioned(
        self, keys: pa.Table, kind: int, partitions: int, edges: Any
    ) -> "tuple[pa.Table, npt.NDArray[np.int64]]":
        del edges
        hashes = keys.column(_HASH).to_numpy()
        return by_hash(keys, mixed(hashes & np.uint64(self._masks()[kind])), partitions)

    def look(self, keys: Keys, look: int) -> pa.Table:
        kind = keys.kind(look)
        columns = gathered(keys.read(look))
        order = np.argsort(columns[_HASH])
        hashes, places = columns[_HASH][order], columns[POSITION][order]
        is_distinct = np.ones(len(hashes), np.bool_)
        is_distinct[1:] = hashes[1:] != hashes[:-1]
        starts = np.flatnonzero(is_distinct)
        # The first sample of each hash.
        least = np.minimum.reduceat(places, starts) if len(places) else places
        firsts = least_of_groups(near_groups(hashes[starts], self._masks()[kind], self.hamming_distance), least)
        if kind:
            # Equal hashes are in one partition of each kind, and are paired only for the first kind.
            places = least
        else:
            firsts = firsts[np.cumsum(is_distinct) - 1]
        is_later = firsts != places
        later, first = places[is_later], firsts[is_later]
        in_order = np.argsort(later)
        return pa.table({"later": later[in_order], "first": first[in_order]})

    def _masks(self) -> list[int]:
        return block_masks(self.num_blocks, self.hamming_distance)
