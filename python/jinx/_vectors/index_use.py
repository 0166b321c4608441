"""Searches a view using the index of a column."""

import os
from typing import TYPE_CHECKING, Any

from jinx._core import Reader
from jinx._vectors.index_search import IndexSearch
from jinx._vectors.index_source import default_path, opened, require_same

if TYPE_CHECKING:
    from jinx._vectors.index_file import IndexFile
    from jinx._vectors.vectors import Vectors

# Reading a vector from the column takes this many times as long as reading its code in a list.
_SLOWER = 4


def index_for(dataset: Reader, name: str, metric: str, index: Any) -> "IndexFile":
    """The index passed to `nearest`: a path, or True for the one next to the dataset."""
    path = default_path(dataset, name) if index is True else os.fsdecode(index)
    found = opened(path)
    require_same(found, dataset, name, metric)
    return found


def by_index(
    index: "IndexFile", vectors: "Vectors", queries: Any, *, k: int, chosen: Any, probes: int | None
) -> list[tuple[Any, Any]] | None:
    """Positions in the view and scores for each query; None if comparing all selected samples is faster.

    Args:
        index: The index of the column.
        vectors: The column.
        queries: float64 of shape (queries, width).
        k: How many samples.
        chosen: Positions in the view to search among; None for all.
        probes: How many lists to search if all rows may be found; by default as many as the index says.
    """
    import numpy as np

    rows = vectors.rows_of(chosen)
    if rows is None:
        return IndexSearch(index, vectors.array)(queries, k, probes or index.facts.probes)
    allowed = np.zeros(len(vectors.array), np.bool_)
    allowed[rows] = True
    # If fewer rows are allowed, the nearest of them are farther away, so more lists are searched.
    share = int(allowed.sum()) / max(len(allowed), 1)
    searched = (probes or index.facts.probes) / index.lists
    if probes is None and share <= _SLOWER * searched:
        return None
    wider = probes or min(index.lists, round(index.facts.probes / share))
    nearest = IndexSearch(index, vectors.array, allowed)(queries, k, wider)
    positions = np.arange(len(rows)) if chosen is None else chosen
    order = np.argsort(rows, kind="stable")
    return [_in_view(of_query, rows[order], positions[order], k) for of_query in nearest]


def _in_view(found: tuple[Any, Any], rows: Any, positions: Any, k: int) -> tuple[Any, Any]:
    """The positions in the view of the rows found; a row may be shown several times."""
    import numpy as np

    near, scores = found
    first, last = rows.searchsorted(near), rows.searchsorted(near, side="right")
    shown = np.concatenate([positions[a:b] for a, b in zip(first, last, strict=True)] or [np.empty(0, np.int64)])
    scores = np.repeat(scores, last - first)
    order = np.lexsort((shown, -scores))[:k]
    return shown[order], scores[order]
