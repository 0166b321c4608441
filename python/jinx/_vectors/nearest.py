"""`Dataset.nearest`: the vectors of a column that are nearest to a query, by comparing all of them or by an index."""

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from jinx._core import Reader
from jinx._dataset.columns import column, parse_name, typed_array
from jinx._dataset.selection import keep
from jinx._vectors.exact import Metric, exact_scores

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

METRICS = ("cosine", "dot", "l2")
# Memory of a block of vectors as float32, and of its scores.
_BLOCK_BYTES = 32 << 20
# Products of longer vectors may be too large for float32.
LARGEST = 1e18
# As many vectors are worth a task of a thread.
_TASK_BYTES = 1 << 20
# More candidates than so many times `k` are reduced before their scores are computed again.
_FEW = 4


class Nearest(NamedTuple):
    """The nearest samples, the nearest first.

    Attributes:
        positions: Their positions in the dataset; int64 of shape (k,), or (queries, k) for several queries.
        scores: Their similarities, or their distances for `l2`; float64 of the same shape.
    """

    positions: "npt.NDArray[np.int64]"
    scores: "npt.NDArray[np.float64]"


def nearest(
    dataset: Reader,
    query: Any,
    name: str,
    *,
    k: int,
    metric: Metric,
    where: Any = None,
    index: Any = None,
    probes: int | None = None,
) -> Nearest:
    """See `Dataset.nearest`."""
    import numpy as np

    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} is not known; use {', '.join(METRICS)}")
    if k < 1:
        raise ValueError(f"k is {k}; ask for at least one sample")
    queries = np.atleast_2d(np.asarray(query, dtype=np.float64))
    vectors = Vectors.of(dataset, name)
    if queries.ndim != 2 or queries.shape[1] != vectors.width:  # noqa: PLR2004
        raise ValueError(f"a query of shape {np.shape(query)} for vectors of {vectors.width} numbers in {name!r}")
    if not np.isfinite(queries).all():
        raise ValueError("a query with numbers that are not finite is near to nothing")
    if probes is not None and (probes < 1 or not index):
        raise ValueError(f"probes is {probes}; it is the number of lists to search, at least one, with index=")
    chosen = None if where is None else chosen_by(dataset, where)
    found = None
    # Numbers beyond float32 are in no index.
    if index and float(np.abs(queries).max(initial=0)) < LARGEST:
        from jinx._vectors.index_use import by_index, index_for

        found = by_index(index_for(dataset, name, metric, index), vectors, queries, k=k, chosen=chosen, probes=probes)
    if found is None:
        found = search(vectors, queries, metric, k, chosen)
    count = min((len(positions) for positions, _ in found), default=0)
    if not found:
        return Nearest(np.empty((0, k), np.int64), np.empty((0, k)))
    positions = np.stack([one[:count] for one, _ in found])
    scores = np.stack([one[:count] for _, one in found]) * (-1 if metric == "l2" else 1)
    return Nearest(positions[0], scores[0]) if np.ndim(query) == 1 else Nearest(positions, scores)


def search(vectors: "Vectors", queries: Any, metric: str, k: int, chosen: Any = None) -> list[tuple[Any, Any]]:
    """Positions in the view and scores of the nearest vectors of each query, by comparing all.

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
    return [(one.positions, one.scores) for one in best]


def chosen_by(dataset: Reader, where: Any) -> "npt.NDArray[np.int64]":
    """The positions in the view of the samples that a condition selects, ascending."""
    import numpy as np

    if isinstance(where, str):
        kept, shown = _indices(keep(dataset, where)), _indices(dataset)
        if kept is None or shown is None:
            return np.arange(len(dataset)) if kept is None else kept
        chosen = np.zeros(dataset._base_len(), dtype=np.bool_)
        chosen[kept] = True
        return np.flatnonzero(chosen[shown])
    mask = np.asarray([bool(where(sample)) for sample in dataset] if callable(where) else where)
    if mask.shape != (len(dataset),) or mask.dtype != np.bool_:
        raise ValueError(f"where is an expression, a function or a boolean mask of shape ({len(dataset)},)")
    return np.flatnonzero(mask)


def _indices(dataset: Reader) -> Any:
    import numpy as np

    return None if dataset._indices is None else np.frombuffer(dataset._indices, dtype="<u8").astype(np.int64)


class Vectors:
    """The vectors of a column, which are read block by block.

    Args:
        array: All vectors of the files, mapped if they are of a saved view; of shape (n, width).
        rows: Which of them the view shows; None for all in their order.
        present: A mask of the samples of the view with a vector; None for all.
    """

    def __init__(self, array: Any, rows: Any, present: Any) -> None:
        self.array, self._rows, self.present = array, rows, present
        self.width: int = array.shape[1]

    @classmethod
    def of(cls, dataset: Reader, name: str, *, only_typed: bool = False) -> "Vectors":
        """The column.

        Args:
            dataset: The view.
            name: The column.
            only_typed: Refuse vectors that are no typed column of a file, or added to one in memory.

        Raises:
            TypeError: The column does not hold vectors of one length.
        """
        import numpy as np

        stored = typed_array(dataset, parse_name(dataset, name))
        if stored is None and only_typed:
            raise TypeError(
                f"the vectors in {name!r} are not stored as one array, which an index needs; add them as an array: "
                f"ds.with_columns({{{name!r}: array}}).save(...)"
            )
        if stored is None:
            values: Any = column(dataset, name)
            present = np.array([value is not None for value in values])
            shapes = {np.shape(value) for value, is_there in zip(values, present, strict=True) if is_there}
            if len(shapes) != 1 or len(next(iter(shapes))) != 1:
                raise TypeError(f"the column {name!r} does not hold vectors of one length")
            zeros = np.zeros(next(iter(shapes)))
            array = np.array([zeros if value is None else value for value in values])
            return cls(array, None, None if present.all() else present)
        array, rows, present = stored
        if array.ndim != 2:  # noqa: PLR2004 - vectors
            raise TypeError(f"the column {name!r} holds numbers and not vectors")
        return cls(array, rows, present)

    def __len__(self) -> int:
        return len(self.array) if self._rows is None else len(self._rows)

    @property
    def dtype(self) -> Any:
        """The type of the numbers."""
        return self.array.dtype

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return self.array.dtype.itemsize

    def present_rows(self) -> Any:
        """The positions of the vectors that are not missing."""
        import numpy as np

        return np.arange(len(self)) if self.present is None else np.flatnonzero(self.present)

    def rows_of(self, chosen: Any) -> Any:
        """The rows of the array at positions in the view (None: all); None for all rows in their order."""
        if chosen is None:
            return self._rows
        return chosen if self._rows is None else self._rows[chosen]

    def at(self, positions: Any) -> Any:
        """The vectors at positions in the view."""
        return self.array[positions if self._rows is None else self._rows[positions]]

    def blocks(self, chosen: Any = None, queries: int = 1) -> Iterator[tuple[Any, Any, Any]]:
        """Positions in the view, their vectors as float32, and the squares of their lengths as float64.

        Missing vectors, and those that are not finite, are left out.

        Args:
            chosen: Positions in the view; None for all.
            queries: How many numbers the caller computes from each vector.
        """
        import numpy as np

        size = max(1, _BLOCK_BYTES // (4 * max(self.width, queries)))
        count = len(self) if chosen is None else len(chosen)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        with ThreadPoolExecutor(cores) as threads:
            for start in range(0, count, size):
                stop = min(start + size, count)
                positions = np.arange(start, stop) if chosen is None else chosen[start:stop]
                if self.present is not None:
                    positions = positions[self.present[positions]]
                if not len(positions):
                    continue
                rough, squares = self._rough(positions, threads)
                is_finite = ~np.isnan(squares)
                if not is_finite.all():
                    positions, rough, squares = positions[is_finite], rough[is_finite], squares[is_finite]
                if len(positions):
                    yield positions, rough, squares

    def _rough(self, positions: Any, threads: Executor) -> tuple[Any, Any]:
        """Vectors as float32, and the squares of their lengths, NaN for one with a number that is not finite."""
        import numpy as np

        rough = np.empty((len(positions), self.width), np.float32)
        squares = np.empty(len(positions), np.float64)
        is_near = self._rows is None and int(positions[-1]) - int(positions[0]) + 1 == len(positions)

        def convert(start: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # each thread has its own state
                convert_part(start)

        def convert_part(start: int) -> None:
            part = slice(start, min(start + size, len(positions)))
            if is_near:
                block = self.array[positions[0] + part.start : positions[0] + part.stop]
            else:
                block = self.at(positions[part])
            rough[part] = block
            squares[part] = np.einsum("ij,ij->i", rough[part], rough[part])
            # A sum is not finite if a number is not, or if it is too large for float32.
            odd = np.flatnonzero(~np.isfinite(squares[part]))
            if len(odd):
                squares[part][odd[~np.isfinite(block[odd]).all(axis=1)]] = np.nan

        size = max(1, _TASK_BYTES // (4 * self.width))
        list(threads.map(convert, range(0, len(positions), size)))
        return rough, squares


class _Best:
    """The best samples so far for a query: the best first, and equal ones by position."""

    def __init__(self, k: int) -> None:
        import numpy as np

        self.k = k
        self.positions = np.empty(0, dtype=np.int64)
        self.scores = np.empty(0, dtype=np.float64)

    def floor(self, *, is_square: bool) -> float:
        """The lowest score that is still among the best."""
        if len(self.scores) < self.k:
            return float("-inf")
        return float(-(self.scores[-1] ** 2) if is_square else self.scores[-1])

    def add(self, positions: Any, scores: Any) -> None:
        import numpy as np

        positions, scores = np.concatenate([self.positions, positions]), np.concatenate([self.scores, scores])
        order = np.lexsort((positions, -scores))[: self.k]
        self.positions, self.scores = positions[order], scores[order]


class _Search:
    """Adds what is near in each block to the best samples.

    One product of matrices in float32 finds candidates. Their scores are computed again in float64, vector by vector,
    so that neither the order nor ties depend on how the product was divided.
    """

    def __init__(self, vectors: Vectors, queries: Any, metric: str, best: list[_Best]) -> None:
        import numpy as np

        self._vectors, self._queries, self._best = vectors, queries, best
        self._metric = metric
        self._lengths = np.linalg.norm(queries, axis=1)
        # Directions for the cosine, so that products need no division by the lengths of queries.
        scale = np.where(self._lengths > 0, self._lengths, 1)[:, None] if metric == "cosine" else 1
        self._rough = (queries / scale).astype(np.float32)
        # More than the largest rounding error of a sum of `width` products of float32.
        self._error = 2.0**-22 * (vectors.width + 8)

    def add(self, positions: Any, rough: Any, squares: Any) -> None:
        """Look at one block."""
        import numpy as np

        norms = np.sqrt(squares)
        longest = float(norms.max())
        if not longest * max(float(self._lengths.max()), 1.0) < LARGEST:
            self._add_all(positions)
            return
        scores = self._rough @ rough.T
        if self._metric == "cosine":
            scores *= (1 / np.where(norms > 0, norms, 1)).astype(np.float32)
            slack = np.full(len(self._best), self._error)
        elif self._metric == "dot":
            slack = self._error * longest * self._lengths
        else:
            # The negative square of the distance.
            scores *= 2
            scores -= squares.astype(np.float32)
            scores -= (self._lengths**2).astype(np.float32)[:, None]
            slack = 2 * self._error * (longest + self._lengths) ** 2
        floors = np.array([one.floor(is_square=self._metric == "l2") for one in self._best]) - slack
        for i, one in enumerate(self._best):
            if len(one.scores) < one.k < scores.shape[1]:
                floors[i] = np.partition(scores[i], -one.k)[-one.k] - 2 * slack[i]
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
