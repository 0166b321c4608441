"""Partitions of keys by hash: equal ranges of 64-bit numbers."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Hashes = npt.NDArray[np.uint64]


def mixed(values: "Hashes") -> "Hashes":
    """Evenly distributed hashes of any values; different values have different hashes.

    This is the last step of SplitMix64.
    """
    hashes = values.copy()
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes ^= hashes >> np.uint64(shift)
        hashes *= np.uint64(factor)
    return hashes ^ (hashes >> np.uint64(31))


def partition_bounds(ordered: "Hashes", partitions: int) -> "npt.NDArray[np.int64]":
    """The bounds of the partitions in sorted hashes: `partitions + 1` indices."""
    edges = np.array([-(-(number << 64) // partitions) for number in range(1, partitions)], np.uint64)
    return np.concatenate([[0], np.searchsorted(ordered, edges), [len(ordered)]]).astype(np.int64)
