"""The nearest vectors by comparing all of them."""

from typing import Any

from jinx._vectors.scores import exact_scores
from jinx._vectors.vectors import Vectors

# Products of longer vectors may be too large for float32.
LARGEST = 1e18
# Squares of the numbers of shorter vectors may be too small for float32.
_SMALLEST = 1e-15
# If there are more candidates than this many times `k`, drop the worse ones before scores are computed exactly.
_FEW = 4


def search(vectors: Vectors, queries: Any, metric: str, k: int, chosen: Any = None) -> list[tuple[Any, Any]]:
    """Positions in the view and scores of the nearest vectors for each query, found by comparing all.

    Args:
        vectors: The column.
        queries: float64 of shape (queries, width).
        metric: How to compare.
        k: How many.
        chosen: Positions in the view to search among; None for all.
    """
    import numpy as np

    best = [_Best(k) for _ in queries]
    compare = _Search(vectors, queries, metric, best)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers beyond float32 are compared as float64
        for positions, rough, squares in vectors.blocks(chosen, len(queries)):
            compare.add(positions, rough, squares)
    return [(nearest.positions, nearest.scores) for nearest in best]


class _Best:
    """The best samples so far for one query: the best first, equally good ones by position."""

    def __init__(self, k: int) -> None:
        import numpy as np

        self.k = k
        self.positions = np.empty(0, dtype=np.int64)
        self.scores = np.empty(0, dtype=np.float64)

    def floor(self, *, is_square: bool) -> float:
        """The lowest score that is still among the best ones."""
        if len(self.scores) < self.k:
            return float("-inf")
        return float(-(self.scores[-1] ** 2) if is_square else self.scores[-1])

    def add(self, positions: Any, scores: Any) -> None:
        import numpy as np

        positions, scores = np.concatenate([self.positions, positions]), np.concatenate([self.scores, scores])
        order = np.lexsort((positions, -scores))[: self.k]
        self.positions = positions[order]
        self.scores = scores[order]


class _Search:
    """Adds the nearest vectors of each block to the best samples.

    One product of matrices in float32 finds candidates. Their scores are computed again in float64, vector by vector,
    so that neither the order nor ties depend on how the product was divided.
    """

    def __init__(self, vectors: Vectors, queries: Any, metric: str, best: list[_Best]) -> None:
        import numpy as np

        self._vectors = vectors
        self._queries = queries
        self._best = best
        self._metric = metric
        self._lengths = np.linalg.norm(queries, axis=1)
        # For the cosine, normalise the queries once, so that products need no division by their lengths.
        scale = np.where(self._lengths > 0, self._lengths, 1)[:, None] if metric == "cosine" else 1
        self._rough = (queries / scale).astype(np.float32)
        # Larger than the maximum rounding error of a sum of `width` products of float32.
        self._error = 2.0**-22 * (vectors.width + 8)

    def add(self, positions: Any, rough: Any, squares: Any) -> None:
        """Search one block."""
        import numpy as np

        norms = np.sqrt(squares)
        longest = float(norms.max())
        if not longest * max(float(self._lengths.max()), 1.0) < LARGEST:
            self._add_all(positions)
            return
        if self._metric == "cosine" and float(norms.min()) < _SMALLEST:
            # float32 cannot represent the direction of such short vectors.
            tiny = np.flatnonzero(norms < _SMALLEST)
            tiny = tiny[self._vectors.at(positions[tiny]).any(axis=1)]
            self._add_all(positions[tiny])
            others = np.setdiff1d(np.arange(len(positions)), tiny)
            positions, rough, norms = positions[others], rough[others], norms[others]
            if not len(positions):
                return
        scores = self._rough @ rough.T
        if self._metric == "cosine":
            scores *= (1 / np.where(norms > 0, norms, 1)).astype(np.float32)
            slack = np.full(len(self._best), self._error)
        elif self._metric == "dot":
            slack = self._error * longest * self._lengths
        else:
            # This makes the score the negative square of the distance.
            scores *= 2
            scores -= squares.astype(np.float32)
            scores -= (self._lengths**2).astype(np.float32)[:, None]
            slack = 2 * self._error * (longest + self._lengths) ** 2
        floors = np.array([nearest.floor(is_square=self._metric == "l2") for nearest in self._best]) - slack
        for i, nearest in enumerate(self._best):
            if len(nearest.scores) < nearest.k < scores.shape[1]:
                floors[i] = np.partition(scores[i], -nearest.k)[-nearest.k] - 2 * slack[i]
        found, columns = np.nonzero(scores >= floors.astype(np.float32)[:, None])
        bounds = np.searchsorted(found, np.arange(len(self._best) + 1))
        for i in np.flatnonzero(np.diff(bounds)).tolist():
            near = columns[bounds[i] : bounds[i + 1]]
            if len(near) > _FEW * self._best[i].k:
                least = np.partition(scores[i, near], -self._best[i].k)[-self._best[i].k]
                near = near[scores[i, near] >= least - 2 * slack[i]]
            self._add(i, positions[near])

    def _add_all(self, positions: Any) -> None:
        for i in range(len(self._best)):
            self._add(i, positions)

    def _add(self, i: int, positions: Any) -> None:
        vectors = self._vectors.at(positions)
        self._best[i].add(positions, exact_scores(vectors, self._queries[i], self._metric))
