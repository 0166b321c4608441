"""Hashes of 64 bits that differ in few bits, found by choices of blocks of the bits."""

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
    """The bits of each choice of `blocks - distance` blocks: hashes that differ in `distance` bits agree in one."""
    bounds = [_BITS * at // blocks for at in range(blocks + 1)]
    bits = [(1 << high) - (1 << low) for low, high in pairwise(bounds)]
    return [sum(chosen) for chosen in combinations(bits, blocks - distance)]


def near_groups(hashes: "Hashes", mask: int, distance: int) -> "Indexes":
    """The index of the first hash of the group of each: what differs in few bits, and all that it connects.

    Only hashes that agree in the bits of the mask are compared.

    Args:
        hashes: Different ones.
        mask: The bits.
        distance: In how many bits near hashes differ at most.
    """
    masked = hashes & np.uint64(mask)
    order = np.argsort(masked, kind="stable")
    masked, ordered = masked[order], hashes[order]
    clusters = kernels.Clusters(len(hashes))
    # Of each hash and the one `step` places after it, as long as they agree.
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
    """The least value in the group of each; groups are those of `near_groups`, and most have one member."""
    least = values.copy()
    joined = np.flatnonzero(roots != np.arange(len(roots)))
    np.minimum.at(least, roots[joined], values[joined])
    return least[roots]
