"""Exact duplicates: samples with equal 128-bit hashes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from jinx_pipeline.dedup.pairs import equal_pairs, joined_pairs
from jinx_pipeline.dedup.signatures import ROWS_AT_ONCE, count_rows

if TYPE_CHECKING:
    import numpy.typing as npt

HASH = ("hash_low", "hash_high")


def hash_table(hashes: "npt.NDArray[np.uint64]", missing: "npt.NDArray[np.bool_] | None" = None) -> pa.Table:
    """A table of signatures.

    Args:
        hashes: uint64 of shape (n, 2).
        missing: Samples that repeat no other, whatever their hash.
    """
    return pa.table({name: pa.array(hashes[:, at], mask=missing) for at, name in enumerate(HASH)})


def exact_duplicates(
    tables: Iterable[pa.Table], rows_at_once: int = ROWS_AT_ONCE
) -> "tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]":
    """Which samples to keep, and of the others which sample they repeat; see `Deduplicator.duplicates`.

    Args:
        tables: Those of `hash_table`, for all samples in order.
        rows_at_once: How many hashes to sort at a time.
    """
    count = count_rows(tables)
    parts = -(-count // rows_at_once)
    roots = joined_pairs(count, (equal_pairs(tables, list(HASH), part, parts) for part in range(parts)))
    keep = roots == np.arange(count)
    return keep, np.where(keep, -1, roots)
