"""Samples that are connected because they have the same keys: found share by share, and then put together."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jinx import kernels
from jinx_pipeline.dedup.signatures import columns_of

if TYPE_CHECKING:
    import numpy.typing as npt


def equal_pairs(tables: Iterable[pa.Table], columns: list[str], part: int, parts: int) -> pa.Table:
    """Each sample that has the same values in some columns as an earlier one, with the first of these.

    Args:
        tables: Keys of all samples in order.
        columns: Of the tables; their values together are one key. A sample without the first one has no key.
        part: Only keys of this part; the values of the first column decide which it is.
        parts: How many parts there are.

    Returns:
        Positions in the columns `later` and `first`.
    """
    groups = equal_groups(tables, columns, part, parts)
    return groups.filter(pc.not_equal(groups["place"], groups["first"])).rename_columns(["later", "first"])


def equal_groups(tables: Iterable[pa.Table], columns: list[str], part: int, parts: int) -> pa.Table:
    """As `equal_pairs`, but with all samples that have a key, the first ones too.

    Returns:
        Positions in the columns `place` and `first`.
    """
    keys, places = columns_of(tables, columns, part, parts)
    order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort((places, *reversed(keys)))
    keys, places = [one[order] for one in keys], places[order]
    is_first = np.ones(len(places), dtype=np.bool_)
    is_first[1:] = np.logical_or.reduce([one[1:] != one[:-1] for one in keys])
    return pa.table({"place": places, "first": places[is_first][np.cumsum(is_first) - 1]})


def joined_pairs(count: int, found: Iterable[pa.Table]) -> "npt.NDArray[np.int64]":
    """The first sample of the cluster of each of `count` samples, int64 of shape (count,).

    Args:
        count: How many samples there are.
        found: Tables of `equal_pairs`.
    """
    clusters = kernels.Clusters(count)
    for table in found:
        later, first = (table.column(name).to_numpy() for name in ("later", "first"))
        clusters.join_equal(np.concatenate([first, first]).astype(np.uint64), np.concatenate([first, later]))
    return clusters.roots()
