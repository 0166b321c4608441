"""Searches some lists of an index, and compares the best candidates exactly."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from jinx._vectors.index_file import IndexFile
from jinx._vectors.scores import exact_scores

if TYPE_CHECKING:
    import numpy as np

# Memory for the codes of a list as float32, and for their scores.
_BLOCK_BYTES = 16 << 20
# For each requested neighbour, this many candidates are compared exactly; and at least this many more than requested.
_POOL, _POOL_LEAST = 4, 64
# The number of queries that are searched for together.
_QUERIES = 256


class IndexSearch:
    """Searches the lists whose centres are nearest to queries.

    Args:
        index: The index.
        array: The column that it was made from, of shape (n, width).
        allowed: A mask of its rows that may be found; None for all.
    """

    def __init__(self, index: IndexFile, array: Any, allowed: Any = None) -> None:
        import numpy as np

        self._index = index
        self._array = array
        self._allowed = allowed
        self._metric = index.facts.metric
        # For l2, twice (product minus half the square of the centre) is the negative squared distance, except for a
        # constant.
        squares = np.einsum("ij,ij->i", index.centres, index.centres)
        self._penalties = squares / 2 if self._metric == "l2" else np.zeros(index.lists, np.float32)

    def __call__(self, queries: Any, k: int, probes: int) -> list[tuple[Any, Any]]:
        """The rows of the column that are nearest to each query, with their scores as in `exact_scores`.

        Where `probes` lists hold fewer than `k` rows that may be found, more are searched, at last all.

        Args:
            queries: float64 of shape (queries, width).
            k: How many rows.
            probes: How many lists.
        """
        found = list[tuple[Any, Any]]()
        for start in range(0, len(queries), _QUERIES):
            found += self._some(queries[start : start + _QUERIES], k, probes)
        return found

    def _some(self, queries: Any, k: int, probes: int) -> list[tuple[Any, Any]]:
        import numpy as np

        lengths = np.linalg.norm(queries, axis=1)[:, None]
        scale = np.where(lengths > 0, lengths, 1) if self._metric == "cosine" else 1
        rough = (queries / scale).astype(np.float32)
        near = rough @ self._index.centres.T - self._penalties
        found: list[tuple[Any, Any]] = [(np.empty(0, np.int64), np.empty(0))] * len(queries)
        lacking, probes = np.arange(len(queries)), min(probes, self._index.lists)
        while len(lacking):
            more = self._candidates(rough[lacking], _nearest_lists(near[lacking], probes), k)
            for i, (rows, _) in zip(lacking.tolist(), more, strict=True):
                found[i] = _best(rows, exact_scores(self._array[rows], queries[i], self._metric), k)
            if probes == self._index.lists:
                break
            lacking = np.array([i for i in lacking.tolist() if len(found[i][0]) < k], dtype=np.int64)
            probes = min(2 * probes, self._index.lists)
        return found

    def _candidates(self, rough: Any, lists: Any, k: int) -> list[tuple[Any, Any]]:
        """For each query, the rows with the best approximate scores in its lists, ascending, and these scores."""
        import numpy as np

        numbers, askers = lists.ravel(), np.repeat(np.arange(len(rough)), lists.shape[1])
        order = np.argsort(numbers, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
        pool = max(_POOL * k, k + _POOL_LEAST)

        def search(group: Any) -> list[tuple[int, Any, Any]]:
            number, who = int(numbers[group[0]]), askers[group]
            return self._in_list(number, rough[who], who.tolist(), pool)

        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        parts: list[list[tuple[Any, Any]]] = [[] for _ in range(len(rough))]
        with ThreadPoolExecutor(cores) as threads:
            for answers in threads.map(search, groups):
                for who, rows, scores in answers:
                    parts[who].append((rows, scores))
        return [self._pooled(part, pool) for part in parts]

    def _in_list(self, number: int, rough: Any, who: list[int], pool: int) -> list[tuple[int, Any, Any]]:
        """The best members of one list for some queries."""
        import numpy as np

        block = self._index.block(number)
        kept = slice(None) if self._allowed is None else np.flatnonzero(self._allowed[block.positions])
        rows, factors, offsets, codes = (part[kept] for part in block)
        answers = list[tuple[int, Any, Any]]()
        size = max(1, _BLOCK_BYTES // (4 * max(self._index.facts.width, len(who))))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            scores = rough @ codes[part].astype(np.float32).T
            scores *= factors[part]
            scores += offsets[part]
            for i, asker in enumerate(who):
                answers.append((asker, *_top(rows[part], scores[i], pool)))
        return answers

    @staticmethod
    def _pooled(parts: list[tuple[Any, Any]], pool: int) -> tuple[Any, Any]:
        import numpy as np

        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        rows, scores = (np.concatenate(pair) for pair in zip(*parts, strict=True))
        rows, scores = _top(rows, scores, pool)
        order = np.argsort(rows)
        return rows[order], scores[order]


def _nearest_lists(near: Any, count: int) -> Any:
    """The numbers of the lists that are nearest to each query, of shape (queries, count), in any order."""
    import numpy as np

    if count == near.shape[1]:
        return np.broadcast_to(np.arange(count), near.shape)
    return np.argpartition(-near, count - 1, axis=1)[:, :count]


def _top(rows: Any, scores: Any, count: int) -> tuple[Any, Any]:
    """The rows with the best scores, in any order."""
    import numpy as np

    if len(rows) <= count:
        return rows, scores
    best = np.argpartition(scores, -count)[-count:]
    return rows[best], scores[best]


def _best(rows: Any, scores: Any, k: int) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
    """The best rows: the best first, equally good ones by row."""
    import numpy as np

    order = np.lexsort((rows, -scores))[:k]
    return rows[order], scores[order]
