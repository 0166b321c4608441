"""Finds 64-bit hashes that differ in few bits, by combinations of blocks of bits."""

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline import kernels

if TYPE_CHECKING:
    import numpy.typing as npt

    Hashes = npt.NDArray[np.uint64]
    Indexes = npt.NDArray[np.int64]

_BITS = 64


def block_masks(blocks: int, distance: int) -> list[int]:
    """Masks of all combinations of `blocks - distance` blocks; hashes that differ in `distance` bits share one."""
    bounds = [_BITS * block // blocks for block in range(blocks + 1)]
    bits = [(1 << high) - (1 << low) for low, high in pairwise(bounds)]
    return [sum(chosen) for chosen in combinations(bits, blocks - distance)]


def near_groups(hashes: "Hashes", mask: int, distance: int) -> "Indexes":
    """For each hash, the index of the first hash in its group: hashes that differ in few bits, possibly via others.

    Only hashes that agree in the bits of the mask are compared.

    Args:
        hashes: Distinct hashes.
        mask: The bits in which compared hashes agree.
        distance: The maximum number of different bits.
    """
    masked = hashes & np.uint64(mask)
    order = np.argsort(masked)
    masked, ordered = masked[order], hashes[order]
    clusters = kernels.Clusters(len(hashes))
    # Compare each hash with the one `step` places after it, as long as they agree in the mask.
    lower, step = np.arange(len(hashes)), 1
    while True:
        lower = lower[lower + step < len(hashes)]
        lower = lower[masked[lower] == masked[lower + step]]
        if not len(lower):
            break
        near = lower[np.bitwise_count(ordered[lower] ^ ordered[lower + step]) <= distance]
        pairs = np.arange(len(near), dtype=np.uint64)
        clusters.join_equal(np.concatenate([pairs, pairs]), order[np.concatenate([near, near + step])])
        step += 1
    return clusters.roots()


def least_of_groups(roots: "Indexes", values: "Indexes") -> "Indexes":
    """For each element, the lowest value in its group; groups are as in `near_groups`, and most have one member."""
    least = values.copy()
    joined = np.flatnonzero(roots != np.arange(len(roots)))
    np.minimum.at(least, roots[joined], values[joined])
    return least[roots]
