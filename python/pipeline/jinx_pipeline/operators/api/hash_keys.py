"""Keys that are divided into partitions by their hash."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.exchange.hashing import mixed, partition_bounds
from jinx_pipeline.exchange.key_file import POSITION
from jinx_pipeline.operators.api.keyed import Exchanged

if TYPE_CHECKING:
    import numpy.typing as npt

FIRST = "key_0"
"""The first column of a key, in the tables of `HashKeys`."""


class HashKeys(Exchanged):
    """Keys of 64 or more bits in columns of the signatures; a sample without a value in the first column has no key.

    In key tables the columns are named `key_0`, `key_1` and so on.
    """

    @property
    @abstractmethod
    def key_columns(self) -> list[list[str]]:
        """The columns of each kind of key; all kinds have the same number of columns."""

    @property
    def extra_columns(self) -> list[str]:
        """Other columns of samples with a key that a task over a partition needs."""
        return []

    @property
    def kinds(self) -> int:
        return len(self.key_columns)

    def key_table(self, signatures: pa.Table, kind: int) -> pa.Table:
        names = self.key_columns[kind]
        has_key = signatures.column(names[0]).is_valid().to_numpy()
        positions = np.flatnonzero(has_key).astype(np.uint32)
        if len(positions) < len(has_key):
            # Leave out the columns of other kinds: there may be dozens.
            signatures = signatures.select(list(dict.fromkeys([*names, *self.extra_columns]))).take(pa.array(positions))
        columns: dict[str, Any] = {
            f"key_{number}": signatures.column(name).combine_chunks() for number, name in enumerate(names)
        }
        columns[FIRST] = pa.array(mixed(columns[FIRST].to_numpy()))
        extra = {name: signatures.column(name).combine_chunks() for name in self.extra_columns}
        return pa.table({**columns, **extra, POSITION: positions})

    def partitioned(
        self, keys: pa.Table, kind: int, partitions: int, edges: Any
    ) -> "tuple[pa.Table, npt.NDArray[np.int64]]":
        del kind, edges
        return by_hash(keys, keys.column(FIRST).to_numpy(), partitions)


def by_hash(
    keys: pa.Table, hashes: "npt.NDArray[np.uint64]", partitions: int
) -> "tuple[pa.Table, npt.NDArray[np.int64]]":
    """Keys in the order of their partitions, and the bounds of these."""
    if partitions == 1:
        return keys, np.array([0, len(hashes)])
    order = np.argsort(hashes, kind="stable")
    return keys.take(pa.array(order)), partition_bounds(hashes[order], partitions)
