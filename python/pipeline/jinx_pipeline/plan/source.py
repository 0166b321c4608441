"""Where the rows of a stage come from, small enough to travel with every task."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jinx_pipeline.operators.source import ABSENT, DatasetSource
from jinx_pipeline.sample.content import refuse_replaced

if TYPE_CHECKING:
    import numpy.typing as npt

    import jinx

    Positions = npt.NDArray[np.int64]

# Own columns of parts that are saved views: the row of the pipeline's input, and the sample's id where a splitter ran.
ROW: Final = "__jinx_row__"
ID: Final = "__jinx_id__"
# Columns of parts that no output has.
PRIVATE: Final = (ROW, ID, ABSENT)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of a dataset, of parts that tasks made, or of groups of them.

    Attributes:
        base: Paths of the dataset that the rows are rows of; none where the parts hold rows of their own.
        parts: Saved views over the base, or datasets, one after another; none: the base itself.
        order: A file of positions in it (.npy), in the order that a global operator decided; None: all, in order.
        bounds: A file of n + 1 places in `order` between which n groups lie; None: no groups.
        contents: The `content_digest` of each of the base, by which a worker that opens it later knows it again.
        facts: A file of what the footers of the base say together, so that only shards whose rows are read are opened.
    """

    base: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    order: str | None = None
    bounds: str | None = None
    contents: tuple[str, ...] = ()
    facts: str | None = None


class OpenSource:
    """A source with its files open."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._order: Positions | None = None if source.order is None else np.load(source.order, mmap_mode="r")
        self._bounds: Positions | None = None if source.bounds is None else np.load(source.bounds, mmap_mode="r")

    @cached_property
    def base(self) -> "jinx.Dataset | None":
        """The dataset beneath; None where the parts hold rows of their own."""
        if not self.source.base:
            return None
        for path, digest in zip(self.source.base, self.source.contents, strict=bool(self.source.contents)):
            refuse_replaced(path, digest)
        opened = open_all(self.source.base)
        if self.source.facts is not None:
            opened._assume(Path(self.source.facts).read_text("utf-8"))
        return opened

    @cached_property
    def dataset(self) -> "jinx.Dataset":
        """What positions count in."""
        if not self.source.parts:
            if self.base is None:
                raise ValueError("a source has a base or parts")
            return self.base
        return open_all(self.source.parts, each=True)

    @cached_property
    def samples(self) -> DatasetSource:
        """The same for batches, which share what it has read."""
        return DatasetSource(self.dataset)

    def __len__(self) -> int:
        if self._bounds is not None:
            return len(self._bounds) - 1
        return len(self.dataset) if self._order is None else len(self._order)

    def positions(self, first: int, rows: int) -> "Positions":
        """Positions in `dataset` of some rows."""
        if self._order is None:
            return np.arange(first, first + rows, dtype=np.int64)
        return np.array(self._order[first : first + rows], dtype=np.int64)

    def group(self, number: int) -> "Positions":
        """Positions in `dataset` of the rows of a group."""
        if self._bounds is None:
            raise ValueError("this source has no groups")
        first, last = int(self._bounds[number]), int(self._bounds[number + 1])
        return self.positions(first, last - first)

    @cached_property
    def _rows(self) -> "Positions | None":
        if self.source.parts and self.source.base:
            return np.asarray(self.dataset.column(ROW), dtype=np.int64)
        return None

    @cached_property
    def _ids(self) -> list[str | None] | None:
        if not self.source.parts or not self.source.base or ID not in self.dataset.column_names:
            return None
        return self.dataset.column(ID)

    def input_rows(self, positions: "Positions") -> "Positions":
        """The rows of the base that rows come from; the positions themselves where there is no base."""
        return positions if self._rows is None else self._rows[positions]

    def other_ids(self, positions: "Positions") -> list[str] | None:
        """As `ids`; None where they are the positions."""
        return None if self._rows is None else self.ids(positions)

    def ids(self, positions: "Positions") -> list[str]:
        """The ids of samples: the number of the input's row, and after a splitter ordinals below it."""
        rows = self.input_rows(positions).tolist()
        if self._ids is None:
            return [str(row) for row in rows]
        return [self._ids[at] or str(row) for at, row in zip(positions.tolist(), rows, strict=True)]

    def own_columns(self) -> list[str]:
        """Columns that the parts have next to those of the base, or in place of them."""
        if not self.source.parts or self.base is None:
            return []
        own = self.dataset.info().own_columns
        return [name for name in own if name not in PRIVATE]


def open_all(paths: tuple[str, ...], *, each: bool = False) -> "jinx.Dataset":
    """One dataset of several paths; with `each`, every path is a dataset by itself."""
    import jinx

    if len(paths) == 1:
        return jinx.open(paths[0])
    return jinx.concat([jinx.open(path) for path in paths]) if each else jinx.open(list(paths))


class SourceCache:
    """The sources that a worker has open; the least recently used one is closed."""

    def __init__(self, size: int = 4) -> None:
        self._size = size
        self._open: OrderedDict[Source, OpenSource] = OrderedDict()

    def get(self, source: Source) -> OpenSource:
        """The source, open."""
        if source in self._open:
            self._open.move_to_end(source)
            return self._open[source]
        made = self._open[source] = OpenSource(source)
        if len(self._open) > self._size:
            self._open.popitem(last=False)
        return made


def plain(value: Any) -> Any:
    """A value of a sample as what a writer takes again."""
    return value.to_dict() if hasattr(value, "to_dict") and not hasattr(value, "dtype") else value
