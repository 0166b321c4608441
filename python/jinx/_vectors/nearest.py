"""`Dataset.nearest`: the vectors of a column nearest to a query, found by comparing all or with an index."""

from typing import TYPE_CHECKING, Any, NamedTuple

from jinx._arguments import whole_number
from jinx._core import Reader
from jinx._dataset.selection import keep
from jinx._vectors.exact_search import LARGEST, search
from jinx._vectors.scores import METRICS, Metric
from jinx._vectors.vectors import Vectors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


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
    k = whole_number("k", k, least=1)
    queries = np.atleast_2d(np.asarray(query, dtype=np.float64))
    vectors = Vectors.of(dataset, name)
    if queries.ndim != 2 or (vectors.width and queries.shape[1] != vectors.width):  # noqa: PLR2004
        raise ValueError(f"a query of shape {np.shape(query)} for vectors of {vectors.width} numbers in {name!r}")
    if not np.isfinite(queries).all():
        raise ValueError("a query with numbers that are not finite is near to nothing")
    if probes is not None:
        probes = whole_number("probes", probes, least=1)
        if not index:
            raise ValueError(f"probes={probes} is the number of lists of an index to search; it needs index=")
    chosen = None if where is None else chosen_by(dataset, where)
    found = None
    # An index cannot contain numbers beyond float32.
    if index and float(np.abs(queries).max(initial=0)) < LARGEST:
        from jinx._vectors.index_use import by_index, index_for

        found = by_index(index_for(dataset, name, metric, index), vectors, queries, k=k, chosen=chosen, probes=probes)
    if found is None:
        found = search(vectors, queries, metric, k, chosen)
    count = min((len(positions) for positions, _ in found), default=0)
    if not found:
        return Nearest(np.empty((0, k), np.int64), np.empty((0, k)))
    positions = np.stack([rows[:count] for rows, _ in found])
    scores = np.stack([values[:count] for _, values in found]) * (-1 if metric == "l2" else 1)
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
