"""Finds the rows of another dataset that have the same keys as the samples."""

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
    """The samples of a partition whose key occurs in the other dataset.

    Args:
        parts: The keys of the samples, as in `gathered`.
        other: The keys of the other dataset.

    Returns:
        Positions in the columns `place` and `row` (the first row with the key), in the order of `place`. The metadata
        hold the number of rows of the other dataset whose key an earlier row has.
    """
    other_keys, sample_keys = gathered(other), gathered(parts)
    other_keys = other_keys or {name: values[:0] for name, values in sample_keys.items()}
    rows, places = other_keys.pop(POSITION), sample_keys.pop(POSITION)
    keys: list[npt.NDArray[Any]] = [np.concatenate([other_keys[name], sample_keys[name]]) for name in sample_keys]
    is_sample = np.repeat([False, True], [len(rows), len(places)])
    index = np.concatenate([rows, places])
    # Rows with equal keys: those of the other dataset come first, then the samples, each in order.
    order = np.lexsort((index, is_sample, *reversed(keys)))
    keys, is_sample, index = [column[order] for column in keys], is_sample[order], index[order]
    is_first = np.ones(len(index), dtype=np.bool_)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in keys])
    firsts = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    has_row = is_sample & ~is_sample[firsts]
    duplicates = np.flatnonzero(~is_sample & ~is_first)
    # The error names the first duplicate in the dataset, whatever the number of parts.
    earliest = duplicates[np.argmin(index[duplicates])] if len(duplicates) else None
    example = [] if earliest is None else [index[firsts[earliest]], index[earliest]]
    notes = {_DUPLICATES: str(len(duplicates)), _EXAMPLE: ",".join(map(str, example))}
    matched_places, matched_rows = index[has_row], index[firsts][has_row]
    in_order = np.argsort(matched_places)
    matches = pa.table({"place": matched_places[in_order], "row": matched_rows[in_order]})
    return matches.replace_schema_metadata(notes)


@dataclass(frozen=True)
class Matches:
    """The results of all tasks over partitions.

    Attributes:
        count: The number of samples.
        tables: The tables of `matched`.
        duplicates: The number of rows of the other dataset whose key an earlier row has.
        example: The first pair of rows with the same key; empty if there is none.
    """

    count: int
    tables: Sequence[pa.Table]
    duplicates: int
    example: tuple[int, ...]

    @classmethod
    def from_looks(cls, count: int, tables: Sequence[pa.Table]) -> Self:
        """The matches of `count` samples, from the tables of `matched`."""
        notes: list[dict[bytes, bytes]] = [table.schema.metadata for table in tables]
        examples = [tuple(map(int, note[_EXAMPLE].decode().split(","))) for note in notes if note[_EXAMPLE]]
        example = min(examples, key=lambda pair: pair[1], default=())
        return cls(count, tables, sum(int(note[_DUPLICATES]) for note in notes), example)

    @property
    def rows(self) -> Chunks:
        """For each sample the row of the other dataset; -1 if it has none."""
        return Chunks(lambda: (rows for _, rows in self._by_range()))

    @property
    def matched(self) -> Chunks:
        """The positions of the samples with a row in the other dataset."""
        return Chunks(lambda: (np.flatnonzero(rows >= 0) + first for first, rows in self._by_range()))

    @property
    def unmatched(self) -> int:
        """The number of samples without a row in the other dataset."""
        return self.count - sum(len(table) for table in self.tables)

    def _by_range(self) -> "Iterator[tuple[int, npt.NDArray[np.int64]]]":
        for first, stop, matches in by_range(self.tables, "place", self.count):
            rows = np.full(stop - first, -1, dtype=np.int64)
            rows[matches.column("place").to_numpy() - first] = matches.column("row").to_numpy()
            yield first, rows
