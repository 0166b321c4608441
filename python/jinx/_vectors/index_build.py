"""Makes an index of a column of vectors, and measures its recall."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jinx._atomic_write import published
from jinx._core import Reader
from jinx._outputs import other_file_name, refuse_existing, refuse_input
from jinx._vectors.exact_search import LARGEST, search
from jinx._vectors.index_file import Block, Facts, IndexFile, IndexWriter, Lists
from jinx._vectors.index_search import IndexSearch
from jinx._vectors.index_source import default_path, digest_of, view_id
from jinx._vectors.kmeans import centres_of, penalties
from jinx._vectors.scores import METRICS
from jinx._vectors.vectors import Vectors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# The number of vectors per list that are used to find its centre.
_TRAINED = 64
# Memory for the vectors that are sorted by list at a time.
_GROUP_BYTES = 512 << 20
_ENOUGH = 0.999
_K, _QUERIES = 10, 400
_CODE = 127


@dataclass(frozen=True)
class VectorIndex:
    """An index of the vectors of a column.

    Attributes:
        path: Its file, which `Dataset.nearest` takes as `index`.
        vectors: How many vectors are in it; those that are missing or not finite are not.
        lists: How many lists they are in.
        probes: How many lists a search looks at by default.
        recall: Which share of the 10 nearest vectors that search finds, on average.
        recalls: The same for other numbers of lists.
    """

    path: str
    vectors: int
    lists: int
    probes: int
    recall: float
    recalls: dict[int, float]

    def __fspath__(self) -> str:
        return self.path


def make_vector_index(
    dataset: Reader,
    name: str,
    path: str | os.PathLike[str] | None,
    *,
    metric: str,
    recall: float,
    lists: int | None,
    seed: int,
    overwrite: bool,
) -> VectorIndex:
    """See `Dataset.make_vector_index`."""
    import numpy as np

    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} is not known; use {', '.join(METRICS)}")
    if not 0 < recall <= 1:
        raise ValueError(f"recall is {recall}; it is a share of the nearest vectors, above 0 and at most 1")
    if lists is not None and lists < 1:
        raise ValueError(f"lists is {lists}; an index has at least one list")
    if seed < 0:
        raise ValueError(f"seed is {seed}; it is at least 0")
    whole = dataset._derive(indices=None)
    vectors = Vectors.of(whole, name, only_typed=True)
    out = default_path(dataset, name) if path is None else other_file_name(path, "an index is a file of its own")
    refuse_input(out, [path for root in dataset._root_files() for path in root.paths] + dataset._shard_paths)
    if not overwrite:
        refuse_existing(out)
    with np.errstate(over="ignore", invalid="ignore"), published(out) as temporary:
        writer = IndexWriter(temporary)
        try:
            centres = _centres(vectors, metric, lists, seed)
            order, bounds = _in_lists(vectors, centres, metric)
            for block in _blocks(vectors, order, bounds, metric):
                writer.add(block)
            writer.flush()
            facts = Facts(
                name, metric, len(vectors), vectors.width, len(centres), seed, view_id(whole), digest_of(vectors),
                k=_K, queries=0, recalls=(), probes=1,
            )  # fmt: skip
            index = IndexFile(temporary, os.open(temporary, os.O_RDONLY), facts, Lists(centres, bounds, writer.hashes))
            facts = _with_recall(index, vectors, order, recall)
            writer.finish(facts, centres, bounds)
        finally:
            writer.close()
    return described(out, facts, int(bounds[-1]))


def described(path: str, facts: Facts, vectors: int) -> VectorIndex:
    """The facts about an index that users are shown."""
    recalls = dict(facts.recalls)
    return VectorIndex(path, vectors, facts.lists, facts.probes, recalls.get(facts.probes, 1.0), recalls)


def _centres(vectors: Vectors, metric: str, lists: int | None, seed: int) -> "npt.NDArray[np.float32]":
    """The centres of the lists, from some of the vectors."""
    import numpy as np

    random = np.random.Generator(np.random.PCG64(seed))
    rows = vectors.present_rows()
    count = min(max(round(len(rows) ** 0.5), 1) if lists is None else lists, len(rows))
    rows = rows[random.permutation(len(rows))]
    sample, wanted = np.empty((0, vectors.width), np.float32), _TRAINED * count
    while len(sample) < wanted and len(rows):
        some, rows = np.sort(rows[: wanted - len(sample)]), rows[wanted - len(sample) :]
        values = vectors.at(some)
        values = values[np.isfinite(values).all(axis=1)]
        _require_short(float(np.abs(values.astype(np.float64)).max(initial=0)))
        sample = np.concatenate([sample, values.astype(np.float32)])
    if not len(sample):
        raise ValueError("the column has no vector whose numbers are finite, and there is nothing to search")
    return centres_of(sample, min(count, len(sample)), seed, by_direction=metric == "cosine")


def _require_short(length: float) -> None:
    if not length < LARGEST:
        raise ValueError(f"numbers of {LARGEST:g} and more are beyond an index; search without one")


def _in_lists(vectors: Vectors, centres: Any, metric: str) -> "tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]":
    """The rows of all vectors, by list and ascending within each; and how many vectors precede each list."""
    import numpy as np

    numbers = np.full(len(vectors), -1, np.int32)
    minus = None if metric == "cosine" else penalties(centres)
    for positions, rough, squares in vectors.blocks(None, len(centres)):
        _require_short(float(np.sqrt(squares.max())))
        products = rough @ centres.T
        if minus is not None:
            products -= minus
        numbers[positions] = products.argmax(axis=1)
    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers + 1, minlength=len(centres) + 1)
    return order[counts[0] :], np.concatenate([[0], np.cumsum(counts[1:])])


def _blocks(vectors: Vectors, order: Any, bounds: Any, metric: str) -> Iterator[Block]:
    """The members of each list. The vectors of several lists are read together, in the order of the file."""
    import numpy as np

    size = max(1, _GROUP_BYTES // (vectors.itemsize * vectors.width))
    first = 0
    while first < len(bounds) - 1:
        last = max(first + 1, int(bounds.searchsorted(bounds[first] + size, side="right")) - 1)
        rows = order[bounds[first] : bounds[last]]
        ascending = np.argsort(rows)
        values = np.empty((len(rows), vectors.width), vectors.dtype)
        values[ascending] = vectors.at(rows[ascending])
        for number in range(first, last):
            part = slice(int(bounds[number] - bounds[first]), int(bounds[number + 1] - bounds[first]))
            yield _encoded(rows[part], values[part].astype(np.float32), metric)
        first = last


def _encoded(rows: Any, values: "npt.NDArray[np.float32]", metric: str) -> Block:
    """Vectors as integers from -127 to 127, and the factors that turn their products into scores."""
    import numpy as np

    scales = np.abs(values).max(axis=1) / _CODE
    codes = np.rint(values / np.where(scales > 0, scales, 1)[:, None])
    # If all numbers are close to zero, the scale has few digits.
    np.clip(codes, -_CODE, _CODE, out=codes)
    squares = np.einsum("ij,ij->i", codes, codes)
    offsets = np.zeros(len(rows), np.float32)
    if metric == "cosine":
        factors = 1 / np.sqrt(np.where(squares > 0, squares, 1))
    elif metric == "dot":
        factors = scales
    else:
        factors, offsets = 2 * scales, -(scales**2) * squares
    return Block(rows, factors.astype(np.float32), offsets.astype(np.float32), codes.astype(np.int8))


def _with_recall(index: IndexFile, vectors: Vectors, order: Any, target: float) -> Facts:
    """The facts of an index, with its recall for each number of lists searched.

    Some vectors of the column are searched for, and themselves do not count.
    """
    import numpy as np

    facts = index.facts
    random = np.random.Generator(np.random.PCG64(facts.seed))
    asked = np.sort(order[random.permutation(len(order))[:_QUERIES]])
    queries, k = vectors.at(asked).astype(np.float64), min(_K, len(order) - 1)
    recalls, enough = dict[int, float](), list[int]()
    if k:
        nearest = search(vectors, queries, facts.metric, k + 1)
        best = [_others(found, row, k) for found, row in zip(nearest, asked, strict=True)]
        find, probes = IndexSearch(index, vectors.array), 1
        while True:
            probes = min(probes, index.lists)
            found = [_others(result, row, k) for result, row in zip(find(queries, k + 1, probes), asked, strict=True)]
            # Vectors at the same distance are equally good results.
            hits = [int((scores >= least[-1]).sum()) for scores, least in zip(found, best, strict=True)]
            shares = np.array(hits) / k
            recalls[probes] = round(float(shares.mean()), 4)
            # Recall differs from query to query, so require a margin: other queries may find less.
            if recalls[probes] - float(shares.std()) / len(asked) ** 0.5 >= target or probes == index.lists:
                enough.append(probes)
            if (enough and recalls[probes] >= _ENOUGH) or probes == index.lists:
                break
            probes *= 2
    default = min(enough, default=index.lists)
    return replace(facts, k=k, queries=len(asked), recalls=tuple(recalls.items()), probes=default)


def _others(found: tuple[Any, Any], row: int, k: int) -> Any:
    """The scores of the results for a row, without the row itself."""
    rows, scores = found
    return scores[rows != row][:k]
