"""Keys that many samples have."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from jinx_pipeline.dedup.signatures import ROWS_AT_ONCE, count_rows

if TYPE_CHECKING:
    import numpy.typing as npt

KEYS = "keys"


def key_table(keys: "npt.NDArray[np.uint64]", samples: "npt.NDArray[np.int64]", count: int) -> pa.Table:
    """A table of signatures: the different keys of each sample.

    Args:
        keys: uint64 of shape (k,).
        samples: The sample of each key, int64 of shape (k,).
        count: How many samples there are.
    """
    order = np.lexsort((keys, samples))
    keys, samples = keys[order], samples[order]
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = (keys[1:] != keys[:-1]) | (samples[1:] != samples[:-1])
    offsets = np.zeros(count + 1, dtype=np.int64)
    offsets[1:] = np.cumsum(np.bincount(samples[is_first], minlength=count))
    return pa.table({KEYS: pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(keys[is_first]))})


def frequent_keys(
    tables: Iterable[pa.Table], more_than: int, keys_at_once: int = ROWS_AT_ONCE
) -> "npt.NDArray[np.uint64]":
    """The keys that more than a number of samples have, ascending.

    Args:
        tables: Those of `key_table`, for all samples.
        more_than: The number.
        keys_at_once: How many keys to sort at a time.
    """
    count_rows(tables)
    parts = max(-(-count_keys(tables) // keys_at_once), 1)
    return np.sort(np.concatenate([frequent_in(tables, more_than, part, parts) for part in range(parts)]))


def count_keys(tables: Iterable[pa.Table]) -> int:
    """The keys of all samples."""
    return sum(len(_keys(table)) for table in tables)


def frequent_in(tables: Iterable[pa.Table], more_than: int, part: int, parts: int) -> "npt.NDArray[np.uint64]":
    """As `frequent_keys`, of the keys that are `part` modulo `parts`."""
    chosen = [keys[keys % np.uint64(parts) == part] for keys in map(_keys, tables)]
    keys, counts = np.unique(np.concatenate([np.empty(0, np.uint64), *chosen]), return_counts=True)
    return keys[counts > more_than]


def _keys(table: pa.Table) -> "npt.NDArray[np.uint64]":
    """All keys of a table, one after another."""
    return table.column(KEYS).combine_chunks().flatten().to_numpy(zero_copy_only=False)
