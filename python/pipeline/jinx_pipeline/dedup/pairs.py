"""Finds pairs of samples with equal keys in each partition, and joins the pairs into clusters."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.exchange.key_file import POSITION
from jinx_pipeline.exchange.numbers import numbers_of, table_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Positions = npt.NDArray[np.int64]


def gathered(parts: Iterable[tuple[int, pa.Table]], extra: Sequence[str] = ()) -> "dict[str, npt.NDArray[Any]]":
    """The columns of a partition of keys, with positions among all samples.

    Args:
        parts: The keys of each file in their order, with the number of samples before the file.
        extra: Columns that are not part of the key.
    """
    columns: dict[str, list[npt.NDArray[Any]]] = {}
    for start, table in parts:
        for name in (*(name for name in table.column_names if name not in extra), *extra):
            values = numbers_of(table, name)
            columns.setdefault(name, []).append(values.astype(np.int64) + start if name == POSITION else values)
    return {name: np.concatenate(values) for name, values in columns.items()}


def equal_pairs(parts: Iterable[tuple[int, pa.Table]], ranks: str = "") -> pa.Table:
    """For each sample whose key occurred earlier in the partition, a pair with the first sample that has this key.

    Args:
        parts: As in `gathered`.
        ranks: The name of the column of ranks, which is not part of the key; empty if there is none.

    Returns:
        Positions in the columns `later` and `first`, in the order of `later`; with a column of ranks also the ranks of
        both, in `later_rank` and `first_rank`.
    """
    keys = gathered(parts, [ranks] if ranks else [])
    places, sample_ranks = keys.pop(POSITION), keys.pop(ranks, None)
    order, firsts = _first_of_equals(list(keys.values()), places)
    later, first = order[order != firsts], firsts[order != firsts]
    in_order = np.argsort(places[later])
    later, first = later[in_order], first[in_order]
    pairs = {"later": places[later], "first": places[first]}
    if sample_ranks is not None:
        pairs |= {"later_rank": sample_ranks[later], "first_rank": sample_ranks[first]}
    return table_of(pairs)


def equal_groups(parts: Iterable[tuple[int, pa.Table]]) -> pa.Table:
    """All samples of a partition, each with the first sample with the same key.

    Returns:
        Positions in the columns `place` and `first`, in the order of `first` and then of `place`.
    """
    keys = gathered(parts)
    places = keys.pop(POSITION)
    order, firsts = _first_of_equals(list(keys.values()), places)
    by_first = np.lexsort((places[order], places[firsts]))
    return table_of({"place": places[order][by_first], "first": places[firsts][by_first]})


def _first_of_equals(keys: "Sequence[npt.NDArray[Any]]", places: "Positions") -> "tuple[Positions, Positions]":
    """Indices sorted by key, and for each the index of the first sample with the same key."""
    order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(tuple(reversed(keys)))
    ordered = [column[order] for column in keys]
    is_first = np.ones(len(places), dtype=np.bool_)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in ordered])
    return order, order[is_first][np.cumsum(is_first) - 1]


def clustered(count: int, tables: Sequence[pa.Table]) -> pa.Table:
    """The clusters of samples that pairs connect, as pairs of the first sample of a cluster and each other sample.

    Memory is one byte for each sample, and about 30 more for each sample in a pair.

    Args:
        count: The number of samples.
        tables: Tables of `equal_pairs`. The first sample of a cluster is the one with the lowest rank. If ranks are
            equal or missing, it is the one with the lowest position.

    Returns:
        A table like that of `equal_pairs`, without ranks.
    """
    is_member = np.zeros(count, np.bool_)
    for table in tables:
        for name in ("later", "first"):
            is_member[numbers_of(table, name)] = True
    members = np.flatnonzero(is_member)
    del is_member
    clusters = kernels.Clusters(len(members))
    for table in tables:
        later, first = (np.searchsorted(members, numbers_of(table, name)) for name in ("later", "first"))
        clusters.join_equal(np.concatenate([first, first]).astype(np.uint64), np.concatenate([first, later]))
    firsts = _by_rank(clusters.roots(), members, tables)
    is_later = firsts != np.arange(len(members))
    return table_of({"later": members[is_later], "first": members[firsts[is_later]]})


def _by_rank(roots: "Positions", members: "Positions", tables: Sequence[pa.Table]) -> "Positions":
    """For each member, the first of its cluster: by rank, if the pairs have ranks."""
    if not tables or "later_rank" not in tables[0].column_names:
        return roots
    ranks = np.zeros(len(members), np.int64)
    for table in tables:
        for name in ("later", "first"):
            ranks[np.searchsorted(members, numbers_of(table, name))] = numbers_of(table, f"{name}_rank")
    # Write in descending order of rank, so that the last write, which stays, has the lowest rank.
    order = np.argsort(ranks, kind="stable")[::-1]
    firsts = np.empty(len(members), np.int64)
    firsts[roots[order]] = order
    return firsts[roots]
