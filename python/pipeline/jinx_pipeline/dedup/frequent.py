"""Finds keys that many samples share."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from jinx_pipeline.exchange.numbers import numbers_of

if TYPE_CHECKING:
    import numpy.typing as npt

KEYS = "keys"


def key_lists(keys: "npt.NDArray[np.uint64]", samples: "npt.NDArray[np.int64]", count: int) -> pa.Table:
    """A table of signatures: the distinct keys of each sample.

    Args:
        keys: uint64 of shape (k,).
        samples: The sample of each key, int64 of shape (k,).
        count: The number of samples.
    """
    order = np.lexsort((keys, samples))
    keys, samples = keys[order], samples[order]
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = (keys[1:] != keys[:-1]) | (samples[1:] != samples[:-1])
    offsets = np.zeros(count + 1, dtype=np.int64)
    offsets[1:] = np.cumsum(np.bincount(samples[is_first], minlength=count))
    return pa.table({KEYS: pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(keys[is_first]))})


def all_keys(signatures: pa.Table) -> pa.Table:
    """The keys of all samples, concatenated."""
    return pa.table({KEYS: signatures.column(KEYS).combine_chunks().flatten()})


def frequent_keys(tables: Iterable[pa.Table], more_than: int) -> "npt.NDArray[np.uint64]":
    """The sorted keys that occur more than `more_than` times in tables of `all_keys`."""
    keys, counts = np.unique(
        np.concatenate([np.empty(0, np.uint64), *(numbers_of(table, KEYS) for table in tables)]),
        return_counts=True,
    )
    return keys[counts > more_than]
