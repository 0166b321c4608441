"""K-means: the centres of clusters of vectors, by direction or by distance."""

from typing import TYPE_CHECKING, Any

from jinx._vectors.directions import unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    Centres = npt.NDArray[np.float32]

_ROUNDS = 10
# The number of training vectors per cluster; more of them hardly move its centre.
_TRAINED_PER_CLUSTER = 256
_BLOCK_BYTES = 32 << 20


def centres_of(vectors: "npt.NDArray[Any]", count: int, seed: int = 0, *, by_direction: bool = True) -> "Centres":
    """The centres of the clusters, of shape (clusters, width).

    Args:
        vectors: An array of shape (n, width), of which some rows are read.
        count: The number of clusters; 0: about the square root of n, which needs the fewest comparisons.
        seed: Which vectors the first centres are.
        by_direction: Whether lengths do not count, and centres have length 1.
    """
    import numpy as np

    prepared = unit if by_direction else _narrow
    count = min(count or max(round(len(vectors) ** 0.5), 1), len(vectors))
    random = np.random.Generator(np.random.PCG64(seed))
    trained = random.permutation(len(vectors))[: count * _TRAINED_PER_CLUSTER]
    sample = prepared(vectors[np.sort(trained)])
    centres = sample[np.sort(random.permutation(len(sample))[:count])]
    if count < 2:  # noqa: PLR2004 - fewer than two clusters
        return centres
    for _ in range(_ROUNDS):
        moved = _moved(sample, centres, by_direction=by_direction)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def nearest_centres(vectors: "npt.NDArray[Any]", centres: "Centres") -> "npt.NDArray[np.int64]":
    """For each vector, the number of the centre in the nearest direction; the first if several are equally near."""
    import numpy as np

    found = np.zeros(len(vectors), np.int64)
    if len(centres) < 2:  # noqa: PLR2004
        return found
    for start, block in _blocks(vectors, len(centres)):
        found[start : start + len(block)] = (unit(block) @ centres.T).argmax(axis=1)
    return found


def penalties(centres: "Centres") -> "npt.NDArray[np.float32]":
    """What to subtract from the products with the centres, so that the nearest centre has the largest result."""
    import numpy as np

    return np.einsum("ij,ij->i", centres, centres) / 2


def _moved(sample: "Centres", centres: "Centres", *, by_direction: bool) -> "Centres":
    """The means, or mean directions, of the vectors that are nearest to each centre."""
    import numpy as np

    sums = np.zeros(centres.shape, np.float64)
    counts = np.zeros((len(centres), 1), np.int64)
    for _, block in _blocks(sample, len(centres)):
        products = block @ centres.T
        if not by_direction:
            products -= penalties(centres)
        nearest = products.argmax(axis=1)
        order = np.argsort(nearest, kind="stable")
        firsts = np.flatnonzero(np.diff(nearest[order], prepend=-1))
        sums[nearest[order[firsts]]] += np.add.reduceat(block[order], firsts, axis=0)
        counts[:, 0] += np.bincount(nearest, minlength=len(centres))
    if not by_direction:
        return np.where(counts > 0, sums / np.maximum(counts, 1), centres).astype(np.float32)
    has_members = np.abs(sums).sum(axis=1, keepdims=True) > 0
    return np.where(has_members, unit(sums), centres)


def _narrow(vectors: "npt.NDArray[Any]") -> "npt.NDArray[np.float32]":
    import numpy as np

    return vectors.astype(np.float32)


def _blocks(vectors: "npt.NDArray[Any]", count: int) -> "Iterator[tuple[int, npt.NDArray[Any]]]":
    """Parts of an array with their first rows. Their size does not depend on the machine, so neither do results."""
    rows = max(_BLOCK_BYTES // (4 * max(vectors.shape[1], count)), 1)
    for start in range(0, len(vectors), rows):
        yield start, vectors[start : start + rows]
