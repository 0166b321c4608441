"""`Dataset.nearest`: the vectors of a column that are nearest to a query, by comparing all of them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jinx._core import Reader
from jinx._dataset.columns import column, parse_name, typed_array
from jinx._dataset.selection import keep

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Metric = Literal["cosine", "dot", "l2"]
METRICS = ("cosine", "dot", "l2")
# Memory of a block of vectors as float64, and of its scores.
_BLOCK_BYTES = 32 << 20


class Nearest(NamedTuple):
    """The nearest samples, the nearest first.

    Attributes:
        positions: Their positions in the dataset; int64 of shape (k,), or (queries, k) for several queries.
        scores: Their similarities, or their distances for `l2`; float64 of the same shape.
    """

    positions: "npt.NDArray[np.int64]"
    scores: "npt.NDArray[np.float64]"


def nearest(dataset: Reader, query: Any, name: str, *, k: int, metric: Metric, where: Any = None) -> Nearest:
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
    chosen = None if where is None else chosen_by(dataset, where)
    best = [_Best(k) for _ in queries]
    with np.errstate(over="ignore", invalid="ignore"):  # numbers beyond float32 are compared as float64
        for positions, block in vectors.blocks(chosen, len(queries)):
            _search(block, positions, queries, metric, best)
    count = min(len(one.positions) for one in best)
    positions = np.stack([one.positions[:count] for one in best])
    scores = np.stack([one.scores[:count] for one in best]) * (-1 if metric == "l2" else 1)
    return Nearest(positions[0], scores[0]) if np.ndim(query) == 1 else Nearest(positions, scores)


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
        self._array, self._rows, self._present = array, rows, present
        self.width: int = array.shape[1]

    @classmethod
    def of(cls, dataset: Reader, name: str) -> "Vectors":
        """The column.

        Raises:
            TypeError: The column does not hold vectors of one length.
        """
        import numpy as np

        stored = typed_array(dataset, parse_name(dataset, name))
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
        return len(self._array) if self._rows is None else len(self._rows)

    def blocks(self, chosen: Any = None, queries: int = 1) -> Iterator[tuple[Any, Any]]:
        """Positions in the view and their vectors, without missing ones and those that are not finite.

        Args:
            chosen: Positions in the view; None for all.
            queries: How many numbers the caller computes from each vector.
        """
        import numpy as np

        size = max(1, _BLOCK_BYTES // (8 * max(self.width, queries)))
        count = len(self) if chosen is None else len(chosen)
        for start in range(0, count, size):
            stop = min(start + size, count)
            positions = np.arange(start, stop) if chosen is None else chosen[start:stop]
            if self._present is not None:
                positions = positions[self._present[positions]]
            if self._rows is not None:
                block = self._array[self._rows[positions]]
            elif len(positions) and positions[-1] - positions[0] + 1 == len(positions):
                block = self._array[positions[0] : positions[-1] + 1]
            else:
                block = self._array[positions]
            is_finite = np.isfinite(block).all(axis=1)
            if not is_finite.all():
                positions, block = positions[is_finite], block[is_finite]
            if len(positions):
                yield positions, block


class _Best:
    """The best samples so far for a query: the best first, and equal ones by position."""

    def __init__(self, k: int) -> None:
        import numpy as np

        self._k = k
        self.positions = np.empty(0, dtype=np.int64)
        self.scores = np.empty(0, dtype=np.float64)

    def candidates(self, scores: Any, slack: float, *, is_square: bool) -> Any:
        """The indices of scores that may be among the best, if each is wrong by at most `slack`."""
        import numpy as np

        if not np.isfinite(scores).all():
            return np.arange(len(scores))
        floor = -np.inf
        if len(self.scores) == self._k:
            floor = -(self.scores[-1] ** 2) if is_square else self.scores[-1]
        if len(scores) > self._k:
            floor = max(floor, np.partition(scores, -self._k)[-self._k] - slack)
        return np.flatnonzero(scores >= floor - slack)

    def add(self, positions: Any, scores: Any) -> None:
        import numpy as np

        positions, scores = np.concatenate([self.positions, positions]), np.concatenate([self.scores, scores])
        order = np.lexsort((positions, -scores))[: self._k]
        self.positions, self.scores = positions[order], scores[order]


def _search(block: Any, positions: Any, queries: Any, metric: Metric, best: list[_Best]) -> None:
    """Add what is near in a block.

    One product of matrices in float32 finds candidates. Their scores are computed again in float64, vector by vector,
    so that neither the order nor ties depend on how the product was divided.
    """
    import numpy as np

    rough = block.astype(np.float32)
    norms = np.linalg.norm(rough, axis=1).astype(np.float64)
    products = (rough @ queries.T.astype(np.float32)).astype(np.float64)
    lengths = np.linalg.norm(queries, axis=1)
    # More than the largest rounding error of a sum of `width` products of float32.
    error = 2.0**-22 * (block.shape[1] + 8)
    for i, one in enumerate(best):
        scores = products[:, i]
        if metric == "cosine":
            scores, slack = scores / np.where(norms > 0, norms, 1) / (lengths[i] or 1), error
        elif metric == "dot":
            slack = error * norms.max() * lengths[i]
        else:
            # The negative square of the distance.
            scores = 2 * scores - norms**2 - lengths[i] ** 2
            slack = 2 * error * (norms.max() + lengths[i]) ** 2
        candidates = one.candidates(scores, slack, is_square=metric == "l2")
        one.add(positions[candidates], exact_scores(block[candidates], queries[i], metric))


def exact_scores(vectors: Any, query: Any, metric: Metric) -> Any:
    """The scores of vectors in float64; for `l2` the negative distances. Equal vectors have equal scores."""
    import numpy as np

    vectors = vectors.astype(np.float64)
    if metric == "l2":
        difference = vectors - query
        return -np.sqrt((difference * difference).sum(axis=1))
    scores = (vectors * query).sum(axis=1)
    if metric == "cosine":
        lengths = np.sqrt((vectors * vectors).sum(axis=1)) * np.sqrt((query * query).sum())
        scores = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0)
    return scores
