"""Spherical k-means: clusters of vectors by direction."""

from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.operators.vector.vectors_of import unit

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

_ROUNDS = 10
# More vectors for each cluster do not move its centre much.
_TRAINED_PER_CLUSTER = 256
_BLOCK_BYTES = 32 << 20
# Products are compared to four digits, because the last ones depend on how a product of matrices was divided.
_DIGITS = 4


def clusters(vectors: "npt.NDArray[Any]", count: int, seed: int = 0) -> "npt.NDArray[np.int64]":
    """The number of the cluster of each vector, from 0 to at most `count` - 1; the same for the same arguments.

    Args:
        vectors: An array of shape (n, width).
        count: The number of clusters; 0: about the square root of n, which needs the fewest comparisons.
        seed: Which vectors the first centres are.
    """
    count = min(count or max(round(len(vectors) ** 0.5), 1), len(vectors))
    if count < 2:  # noqa: PLR2004 - one cluster, or none
        return np.zeros(len(vectors), np.int64)
    random = np.random.Generator(np.random.PCG64(seed))
    trained = random.permutation(len(vectors))[: count * _TRAINED_PER_CLUSTER]
    sample = unit(vectors[np.sort(trained)])
    centres = sample[np.sort(random.permutation(len(sample))[:count])]
    for _ in range(_ROUNDS):
        nearest = _nearest(sample, centres)
        sums = np.zeros(centres.shape, np.float64)
        np.add.at(sums, nearest, sample)
        is_empty = np.bincount(nearest, minlength=count) == 0
        moved = np.where(is_empty[:, None], centres, unit(sums))
        if np.array_equal(moved, centres):
            break
        centres = moved
    return _nearest(vectors, centres)


def _nearest(vectors: "npt.NDArray[Any]", centres: "npt.NDArray[np.float32]") -> "npt.NDArray[np.int64]":
    size = max(_BLOCK_BYTES // (4 * max(vectors.shape[1], len(centres))), 1)
    found = np.empty(len(vectors), np.int64)
    for start in range(0, len(vectors), size):
        products = unit(vectors[start : start + size]) @ centres.T
        found[start : start + size] = np.round(products, _DIGITS).argmax(axis=1)
    return found
