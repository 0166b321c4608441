"""Clusters of vectors by direction, and their members."""

from typing import TYPE_CHECKING

import numpy as np

from jinx._vectors.kmeans import centres_of, nearest_centres

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt


def clusters(vectors: "npt.NDArray[Any]", count: int, seed: int = 0) -> "npt.NDArray[np.int64]":
    """The number of the cluster of each vector, from 0 to at most `count` - 1; the same for the same arguments.

    Args:
        vectors: An array of shape (n, width), of which blocks are read.
        count: The number of clusters; 0: about the square root of n, which needs the fewest comparisons.
        seed: Which vectors the first centres are.
    """
    return nearest_centres(vectors, centres_of(vectors, count, seed))


def members_of(numbers: "npt.NDArray[np.int64]") -> "list[npt.NDArray[np.int64]]":
    """The positions of the members of each cluster that is not empty, ascending."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []
