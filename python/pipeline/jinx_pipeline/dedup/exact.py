"""Exact duplicates: samples with equal 128-bit hashes."""

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

HASH = ("hash_low", "hash_high")


def hash_table(hashes: "npt.NDArray[np.uint64]", missing: "npt.NDArray[np.bool_] | None" = None) -> pa.Table:
    """A table of signatures.

    Args:
        hashes: uint64 of shape (n, 2).
        missing: A mask of the samples that never count as duplicates, whatever their hash.
    """
    return pa.table({name: pa.array(hashes[:, index], mask=missing) for index, name in enumerate(HASH)})
