"""Which row of another dataset has the key of a sample."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from jinx_pipeline.dedup.pairs import gathered
from jinx_pipeline.exchange.chunks import Chunks, by_range
from jinx_pipeline.exchange.key_file import POSITION

if TYPE_CHECKING:
    import numpy.typing as npt

_DUPLICATES, _EXAMPLE = b"duplicates", b"example"


def matched(parts: Iterable[tuple[int, pa.Table]], other: Iterable[tuple[int, pa.Table]]) -> pa.Table:
    """The samples of a partition whose key the other dataset has.

    Args:
        parts: Keys of the samples, as in `gathered`.
        other: Those of the other dataset.

    Returns:
        Positions in the columns `place` and `row` (the first with the key), in the order of `place`; the metadata count
        rows of the other dataset that have the key of an earlier one.
    """
    theirs, ours = gathered(other), gathered(parts)
    theirs = theirs or {name: values[:0] for name, values in ours.items()}
    rows, places = theirs.pop(POSITION), ours.pop(POSITION)
    keys: list[npt.NDArray[Any]] = [np.concatenate([theirs[name], ours[name]]) for name in ours]
    is_ours = np.repeat([False, True], [len(rows), len(places)])
    index = np.concatenate([rows, places])
    # Of equal keys the rows of the other dataset come first, in order.
    order = np.lexsort((index, is_ours, *reversed(keys)))
    keys, is_ours, index = [column[order] for column in keys], is_ours[order], index[order]
    is_first = np.ones(len(index), dtype=np.bool_)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in keys])
    firsts = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    has_row = is_ours & ~is_ours[firsts]
    again = np.flatnonzero(~is_ours & ~is_first)
    # The first in the dataset, so that it is the same for any number of parts.
    earliest = again[np.argmin(index[again])] if len(again) else None
    example = [] if earliest is None else [index[firsts[earliest]], index[earliest]]
    notes = {_DUPLICATES: str(len(again)), _EXAMPLE: ",".join(map(str, example))}
    found_places, found_rows = index[has_row], index[firsts][has_row]
    in_order = np.argsort(found_places)
    found = pa.table({"place": found_places[in_order], "row": found_rows[in_order]})
    return found.replace_schema_metadata(notes)


@dataclass(frozen=True)
class Matches:
    """What all looks have found.

    Attributes:
        count: How many samples there are.
        found: The tables of `matched`.
        duplicates: Rows of the other dataset that have the key of an earlier one.
        example: The first row that has the key of an earlier one, and that one before it; empty if there are none.
    """

    count: int
    found: Sequence[pa.Table]
    duplicates: int
    example: tuple[int, ...]

    @classmethod
    def of(cls, count: int, found: Sequence[pa.Table]) -> Self:
        """Of the tables of `matched`, for `count` samples."""
        notes: list[dict[bytes, bytes]] = [table.schema.metadata for table in found]
        examples = [tuple(map(int, note[_EXAMPLE].decode().split(","))) for note in notes if note[_EXAMPLE]]
        example = min(examples, key=lambda pair: pair[1], default=())
        return cls(count, found, sum(int(note[_DUPLICATES]) for note in notes), example)

    @property
    def rows(self) -> Chunks:
        """For each sample the row of the other dataset, -1 where it has none."""
        return Chunks(lambda: (rows for _, rows in self._by_range()))

    @property
    def matched(self) -> Chunks:
        """The positions of the samples that have a row in the other dataset."""
        return Chunks(lambda: (np.flatnonzero(rows >= 0) + first for first, rows in self._by_range()))

    @property
    def unmatched(self) -> int:
        """How many samples have none."""
        return self.count - sum(len(table) for table in self.found)

    def _by_range(self) -> "Iterator[tuple[int, npt.NDArray[np.int64]]]":
        for first, stop, some in by_range(self.found, "place", self.count):
            rows = np.full(stop - first, -1, dtype=np.int64)
            rows[some.column("place").to_numpy() - first] = some.column("row").to_numpy()
            yield first, rows
