"""Spherical k-means: clusters of vectors by direction."""

from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.operators.vector.stored_vectors import blocks
from jinx_pipeline.operators.vector.vectors_of import unit

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    Centres = npt.NDArray[np.float32]

_ROUNDS = 10
# More vectors for each cluster do not move its centre much.
_TRAINED_PER_CLUSTER = 256
_BLOCK_BYTES = 32 << 20


def clusters(vectors: "npt.NDArray[Any]", count: int, seed: int = 0) -> "npt.NDArray[np.int64]":
    """The number of the cluster of each vector, from 0 to at most `count` - 1; the same for the same arguments.

    Args:
        vectors: An array of shape (n, width), of which blocks are read.
        count: The number of clusters; 0: about the square root of n, which needs the fewest comparisons.
        seed: Which vectors the first centres are.
    """
    return nearest_centres(vectors, centres_of(vectors, count, seed))


def centres_of(vectors: "npt.NDArray[Any]", count: int, seed: int = 0) -> "Centres":
    """The centres of clusters, of length 1 and of shape (clusters, width); see `clusters`."""
    count = min(count or max(round(len(vectors) ** 0.5), 1), len(vectors))
    random = np.random.Generator(np.random.PCG64(seed))
    trained = random.permutation(len(vectors))[: count * _TRAINED_PER_CLUSTER]
    sample = unit(vectors[np.sort(trained)])
    centres = sample[np.sort(random.permutation(len(sample))[:count])]
    if count < 2:  # noqa: PLR2004 - one cluster, or none
        return centres
    for _ in range(_ROUNDS):
        moved = _moved(sample, centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def nearest_centres(vectors: "npt.NDArray[Any]", centres: "Centres") -> "npt.NDArray[np.int64]":
    """The number of the nearest centre of each vector, the first of equally near ones."""
    found = np.zeros(len(vectors), np.int64)
    if len(centres) < 2:  # noqa: PLR2004
        return found
    for start, block in blocks(vectors, _rows(vectors.shape[1], len(centres))):
        found[start : start + len(block)] = (unit(block) @ centres.T).argmax(axis=1)
    return found


def members_of(numbers: "npt.NDArray[np.int64]") -> "list[npt.NDArray[np.int64]]":
    """The places of the members of each cluster that has some, ascending."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


def _moved(sample: "npt.NDArray[np.float32]", centres: "Centres") -> "Centres":
    """The directions of the means of the vectors that are nearest to each centre."""
    sums = np.zeros(centres.shape, np.float64)
    for _, block in blocks(sample, _rows(sample.shape[1], len(centres))):
        nearest = (block @ centres.T).argmax(axis=1)
        order = np.argsort(nearest, kind="stable")
        firsts = np.flatnonzero(np.diff(nearest[order], prepend=-1))
        sums[nearest[order[firsts]]] += np.add.reduceat(block[order], firsts, axis=0)
    has_members = np.abs(sums).sum(axis=1, keepdims=True) > 0
    return np.where(has_members, unit(sums), centres)


def _rows(width: int, count: int) -> int:
    return max(_BLOCK_BYTES // (4 * max(width, count)), 1)
