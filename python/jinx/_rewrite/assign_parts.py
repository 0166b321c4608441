"""Assigns samples to the parts of a split, using only their numbers: by shares, limits, strata and groups.

Every function returns the part of each sample, an int64 array of shape (n,) of numbers from 0.
"""

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]


def order_of(count: int, seed: int | None) -> "Ints":
    """The order in which parts are filled: the order of the samples, or a random one."""
    import numpy as np

    return np.arange(count) if seed is None else np.random.Generator(np.random.PCG64(seed)).permutation(count)


def sizes_of_shares(count: int, shares: "Sequence[float]") -> "Ints":
    """Whole numbers that add up to `count`; each differs from its share by less than one."""
    import numpy as np

    ends = np.rint(np.cumsum(shares) * count).astype(np.int64)
    ends[-1] = count
    return np.diff(np.concatenate([[0], ends]))


def by_shares(order: "Ints", shares: "Sequence[float]") -> "Ints":
    """Parts of given shares, filled one after the other."""
    return _filled(order, sizes_of_shares(len(order), shares))


def _filled(order: "Ints", sizes: "Ints") -> "Ints":
    import numpy as np

    part_of = np.empty(len(order), dtype=np.int64)
    part_of[order] = np.repeat(np.arange(len(sizes)), sizes)
    return part_of


def by_limit(order: "Ints", weights: "Ints", limit: int) -> "Ints":
    """Parts that are filled one after the other up to `limit`; a larger sample gets a part of its own."""
    import numpy as np

    ends = np.cumsum(weights[order])
    sizes: list[int] = []
    start = before = 0
    while start < len(order):
        stop = max(int(np.searchsorted(ends, before + limit, side="right")), start + 1)
        sizes.append(stop - start)
        start, before = stop, int(ends[stop - 1])
    return _filled(order, np.array(sizes, dtype=np.int64))


def stratified(order: "Ints", strata: "Ints", shares: "Sequence[float]") -> "Ints":
    """Parts with the given shares of the samples and, as far as whole samples allow, of each stratum."""
    import numpy as np

    sorted_order = order[np.argsort(strata[order], kind="stable")]
    part_of = np.empty(len(order), dtype=np.int64)
    wanted, owed = np.asarray(shares, dtype=np.float64), np.zeros(len(shares))
    start = 0
    for size in np.bincount(strata).tolist():
        # A part that loses by rounding in one stratum gains in the next.
        exact = wanted * size + owed
        taken = np.maximum(np.floor(exact), 0).astype(np.int64)
        while taken.sum() > size:
            taken[np.argmax(np.where(taken > 0, taken - exact, -np.inf))] -= 1
        for part in np.argsort(taken - exact, kind="stable")[: size - int(taken.sum())]:
            taken[part] += 1
        owed = exact - taken
        part_of[sorted_order[start : start + size]] = np.repeat(np.arange(len(taken)), taken)
        start += size
    return part_of


def grouped(order: "Ints", group_sizes: "Ints", shares: "Sequence[float]") -> "Ints":
    """The part of each group, in the given order of groups: each goes to the part that lacks the most samples."""
    import numpy as np

    total = int(group_sizes.sum())
    # The part that lacks the most samples comes first; if several lack the same number, the first of them.
    lacks = [(-share * total, part) for part, share in enumerate(shares)]
    heapq.heapify(lacks)
    part_of = np.empty(len(order), dtype=np.int64)
    for group, size in zip(order.tolist(), group_sizes[order].tolist(), strict=True):
        lack, part = lacks[0]
        heapq.heapreplace(lacks, (lack + size, part))
        part_of[group] = part
    return part_of


def grouped_and_stratified(order: "Ints", groups: "Ints", strata: "Ints", shares: "Sequence[float]") -> "Ints":
    """The part of each group: each goes to the part that lacks the most of its strata, relative to their sizes."""
    import numpy as np

    totals = np.bincount(strata)
    wanted = np.asarray(shares, dtype=np.float64)
    # The samples that are missing from each stratum, and from all strata: the total keeps the sizes if strata do not
    # decide.
    lacks, all_lacks = np.outer(wanted, totals), wanted * len(strata)
    pairs, counts = np.unique(groups * len(totals) + strata, return_counts=True)
    starts = np.searchsorted(pairs, np.arange(len(order) + 1) * len(totals))
    part_of = np.empty(len(order), dtype=np.int64)
    for group in order.tolist():
        group_pairs = slice(starts[group], starts[group + 1])
        columns = pairs[group_pairs] - group * len(totals)
        size = counts[group_pairs].sum()
        part = int(
            np.argmax(lacks[:, columns] @ (counts[group_pairs] / totals[columns]) + all_lacks * (size / len(strata)))
        )
        lacks[part, columns] -= counts[group_pairs]
        all_lacks[part] -= size
        part_of[group] = part
    return part_of


def members(part_of: "Ints", parts: int) -> "list[Ints]":
    """The samples of each part, in their order."""
    import numpy as np

    order = np.argsort(part_of, kind="stable")
    return np.split(order, np.cumsum(np.bincount(part_of, minlength=parts))[:-1])


def numbered(keys: "npt.NDArray[np.uint64]") -> "tuple[Ints, Ints]":
    """Keys as numbers from 0 in the order of their first samples, and these samples; each key 0 is separate.

    The keys 7, 0, 5, 7, 0 have the numbers 0, 1, 2, 0, 3, and the first samples are 0, 1, 2, 4.
    """
    import numpy as np

    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    samples = np.arange(len(keys), dtype=np.int64)
    first_with_key = np.where(keys == 0, samples, first[inverse])
    is_first = first_with_key == samples
    return (np.cumsum(is_first) - 1)[first_with_key], np.flatnonzero(is_first)
