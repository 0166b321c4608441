"""Signatures of all samples, read table by table as often as needed, so that memory stays bounded."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

ROWS_AT_ONCE = 8_000_000
"""How many keys are sorted at a time: about 400 MB."""


def count_rows(tables: Iterable[pa.Table]) -> int:
    """The number of samples.

    Raises:
        TypeError: The tables can be read only once.
    """
    if isinstance(tables, Iterator):
        raise TypeError("signatures are read several times: give a list, or an object that reads files again")
    return sum(table.num_rows for table in tables)


def columns_of(
    tables: Iterable[pa.Table], names: list[str], part: int, parts: int
) -> "tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64]]":
    """Some columns of the rows whose first column is `part` modulo `parts` and not null, and the rows' positions."""
    found: list[list[npt.NDArray[Any]]] = [[] for _ in names]
    places: list[npt.NDArray[np.int64]] = []
    start = 0
    for table in tables:
        first = table.column(names[0]).combine_chunks()
        there = np.ones(len(first), dtype=np.bool_)
        if first.null_count:
            there = first.is_valid().to_numpy(zero_copy_only=False)
            first = first.fill_null(0)
        keys = first.to_numpy(zero_copy_only=False)
        chosen = np.flatnonzero(there & (keys % np.uint64(parts) == part) if parts > 1 else there)
        for at, name in enumerate(names):
            values = (
                keys if at == 0 else table.column(name).combine_chunks().fill_null(0).to_numpy(zero_copy_only=False)
            )
            found[at].append(values[chosen])
        places.append(chosen + start)
        start += table.num_rows
    if not places:
        return [np.empty(0, dtype=np.uint64) for _ in names], np.empty(0, dtype=np.int64)
    return [np.concatenate(values) for values in found], np.concatenate(places)
