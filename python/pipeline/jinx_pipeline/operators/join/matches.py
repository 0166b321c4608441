"""Which row of another dataset has the key of a sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from jinx_pipeline.dedup.signatures import columns_of

if TYPE_CHECKING:
    import numpy.typing as npt

_DUPLICATES, _EXAMPLE = b"duplicates", b"example"


def matched(
    tables: Sequence[pa.Table], other: Sequence[pa.Table], columns: list[str], part: int, parts: int
) -> pa.Table:
    """The samples whose key the other dataset has.

    Args:
        tables: The keys of the samples, in order.
        other: Those of the other dataset, in order.
        columns: Of both; their values together are one key. Without a value in the first one there is no key.
        part: Only keys of this part; the values of the first column decide which it is.
        parts: How many parts there are.

    Returns:
        Positions in the columns `place` and `row` (the first with the key); the metadata count rows of the other
        dataset that have the key of an earlier one.
    """
    theirs, rows = columns_of(other, columns, part, parts)
    ours, places = columns_of(tables, columns, part, parts)
    keys: list[npt.NDArray[Any]] = [np.concatenate(pair) for pair in zip(theirs, ours, strict=True)]
    is_ours = np.repeat([False, True], [len(rows), len(places)])
    index = np.concatenate([rows, places])
    # Of equal keys the rows of the other dataset come first, in order.
    order = np.lexsort((index, is_ours, *reversed(keys)))
    keys, is_ours, index = [one[order] for one in keys], is_ours[order], index[order]
    is_first = np.ones(len(index), dtype=np.bool_)
    is_first[1:] = np.logical_or.reduce([one[1:] != one[:-1] for one in keys])
    firsts = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    has_row = is_ours & ~is_ours[firsts]
    again = np.flatnonzero(~is_ours & ~is_first)
    # The first in the dataset, so that it is the same for any number of parts.
    earliest = again[np.argmin(index[again])] if len(again) else None
    example = [] if earliest is None else [index[firsts[earliest]], index[earliest]]
    notes = {_DUPLICATES: str(len(again)), _EXAMPLE: ",".join(map(str, example))}
    return pa.table({"place": index[has_row], "row": index[firsts][has_row]}).replace_schema_metadata(notes)


@dataclass(frozen=True)
class Matches:
    """What all parts have found.

    Attributes:
        rows: For each sample the row of the other dataset, -1 where it has none.
        duplicates: Rows there that have the key of an earlier one.
        example: The first row that has the key of an earlier one, and that one before it; empty if there are none.
    """

    rows: "npt.NDArray[np.int64]"
    duplicates: int
    example: tuple[int, ...]

    @classmethod
    def of(cls, count: int, found: Sequence[pa.Table]) -> Self:
        """Of the tables of `matched`, for `count` samples."""
        rows = np.full(count, -1, dtype=np.int64)
        for one in found:
            rows[one["place"].to_numpy()] = one["row"].to_numpy()
        notes: list[dict[bytes, bytes]] = [one.schema.metadata for one in found]
        examples = [tuple(map(int, note[_EXAMPLE].decode().split(","))) for note in notes if note[_EXAMPLE]]
        example = min(examples, key=lambda pair: pair[1], default=())
        return cls(rows, sum(int(note[_DUPLICATES]) for note in notes), example)
