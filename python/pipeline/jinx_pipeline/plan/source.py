"""The rows that a stage reads, in a form small enough to send with every task."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from jinx._saved_views.open import ViewOpener
from jinx_pipeline.operators.api.sample_source import (
    ABSENT,
    ID,
    PRIVATE,
    ROW,
    UNCHANGED,
    DatasetSource,
    in_order,
    listed_columns,
)
from jinx_pipeline.plan.manifest import Manifest
from jinx_pipeline.sample.content_identity import refuse_replaced
from jinx_pipeline.store.mirror import fetched, readable

if TYPE_CHECKING:
    import numpy.typing as npt

    import jinx

    Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BlockOrder:
    """The order of the rows of a block before operators divided them into several streams.

    A row that occurs several times in a block has the place of the first time: its copies come one after another, in
    the order of the streams.

    Attributes:
        source: The source of the block; None if its rows are in the order of the base.
        first: Its first row there.
        rows: Its number of rows.
    """

    source: "Source | None" = None
    first: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of a dataset or of parts, or groups of these rows.

    Attributes:
        base: Paths of the dataset that contains the rows; empty if the parts hold the rows themselves.
        parts: Saved views over the base, or datasets, which are concatenated; empty: the base itself.
        manifest: A file that lists the parts if there may be many; see `plan/manifest.py`.
        order: A file of positions (.npy), in the order that a global operator decided; None: all rows, in order.
        bounds: A file of n + 1 offsets into `order`, which delimit n groups; None for no groups.
        contents: The `content_digest` of each path of the base, which a worker checks when it opens the base.
        facts: A file with the combined facts of the footers of the base, so that only the shards that are read are
            opened.
        block: The order in which the rows of the parts are read, instead of one part after another; needs a base.
    """

    base: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    manifest: str | None = None
    order: str | None = None
    bounds: str | None = None
    contents: tuple[str, ...] = ()
    facts: str | None = None
    block: BlockOrder | None = None

    @property
    def has_parts(self) -> bool:
        """Whether the rows are in parts instead of the base itself."""
        return bool(self.parts) or self.manifest is not None

    def part_paths(self) -> tuple[str, ...]:
        """The paths of all parts, in order."""
        return self.parts if self.manifest is None else tuple(Manifest(fetched(self.manifest)).paths())


class BaseDataset:
    """The dataset to which parts refer, opened once for any number of parts.

    Args:
        source: A source that has this dataset as its base.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def dataset(self) -> "jinx.Dataset":
        """The dataset."""
        import jinx

        paths, contents = tuple(map(readable, self._source.base)), self._source.contents
        for path, digest in zip(paths, contents, strict=bool(contents)):
            refuse_replaced(path, digest)
        opened = jinx.open(paths[0] if len(paths) == 1 else list(paths))
        if self._source.facts is not None:
            opened._assume(fetched(self._source.facts).read_text("utf-8"))
        return opened

    @cached_property
    def _views(self) -> ViewOpener:
        return ViewOpener(self.dataset)

    def view(self, path: str) -> Any:
        """The part at a path: a saved view of this dataset."""
        return self._views.open(path)


class OpenSource:
    """A source with open files.

    Args:
        source: The source.
        opened: Another open source with the same base and order, whose open files are shared.
    """

    def __init__(self, source: Source, opened: "OpenSource | BaseDataset | None" = None) -> None:
        self.source = source
        self._manifest = None if source.manifest is None else Manifest(fetched(source.manifest))
        if isinstance(opened, OpenSource):
            self._base, self._order, self.bounds = opened._base, opened._order, opened.bounds
            return
        self._base = opened or BaseDataset(source)
        self._order: Positions | None = None if source.order is None else np.load(fetched(source.order), mmap_mode="r")
        self.bounds: Positions | None = (
            None if source.bounds is None else np.load(fetched(source.bounds), mmap_mode="r")
        )

    def slice(self, first: int, rows: int) -> "OpenSource":
        """The source for some of its rows or groups; it opens only the parts that contain them.

        Args:
            first: The first row or group; all keep their numbers and positions.
            rows: The number of rows or groups.
        """
        return self if self._manifest is None else _Slice(self, self._manifest, first, rows)

    @property
    def base(self) -> "jinx.Dataset | None":
        """The base dataset; None if the parts contain the rows themselves."""
        return self._base.dataset if self.source.base else None

    @cached_property
    def dataset(self) -> "jinx.Dataset":
        """The dataset to which positions from `local` refer."""
        import jinx

        if not self.parts:
            if self.base is None:
                raise ValueError("a source has a base or parts")
            return self.base if self._manifest is None else self.base.select([])
        return self.parts[0] if len(self.parts) == 1 else jinx.concat(self.parts)

    @cached_property
    def parts(self) -> "list[jinx.Dataset]":
        """The parts, open, in order."""
        import jinx

        paths = map(readable, self.source.part_paths())
        return [self._base.view(path) if self.source.base else jinx.open(path) for path in paths]

    @cached_property
    def samples(self) -> DatasetSource:
        """The dataset for batches, which share the values that were read."""
        return _Samples(self)

    def __len__(self) -> int:
        if self.bounds is not None:
            return len(self.bounds) - 1
        if self._order is not None:
            return len(self._order)
        return len(self.dataset) if self._manifest is None else self._manifest.rows

    def positions(self, first: int, rows: int) -> "Positions":
        """The positions of some rows in the base, or in all parts concatenated."""
        if self._block_order is not None:
            return self._block_order[first : first + rows]
        if self._order is None:
            return np.arange(first, first + rows, dtype=np.int64)
        return np.array(self._order[first : first + rows], dtype=np.int64)

    def local(self, positions: "Positions") -> "Positions":
        """The positions in `dataset` for positions from `positions`."""
        return positions

    def group(self, number: int) -> "Positions":
        """The positions of the rows of a group."""
        if self.bounds is None:
            raise ValueError("this source has no groups")
        first, last = int(self.bounds[number]), int(self.bounds[number + 1])
        return self.positions(first, last - first)

    @cached_property
    def _rows(self) -> "Positions | None":
        if self.source.has_parts and self.source.base:
            return np.asarray(self.dataset.column(ROW), dtype=np.int64)
        return None

    @cached_property
    def _ids(self) -> list[str | None] | None:
        if not self.source.has_parts or not self.source.base or ID not in self.dataset.column_names:
            return None
        return self.dataset.column(ID)

    def input_rows(self, positions: "Positions") -> "Positions":
        """The rows of the base at some positions; without a base, the positions themselves."""
        return positions if self._rows is None else self._rows[self.local(positions)]

    def other_ids(self, positions: "Positions") -> list[str] | None:
        """The ids of samples; None if they are just the positions."""
        return None if self._rows is None else self.ids(positions)

    def ids(self, positions: "Positions") -> list[str]:
        """The ids of samples: the row number in the input, with ordinals that splitters append."""
        rows = self.input_rows(positions).tolist()
        if self._ids is None:
            return [str(row) for row in rows]
        return [self._ids[index] or str(row) for index, row in zip(self.local(positions).tolist(), rows, strict=True)]

    @cached_property
    def _block_order(self) -> "Positions | None":
        """The positions in the order of the block; samples that splitters made of a row are in their order."""
        block = self.source.block
        if block is None or self._rows is None:
            return None
        if block.source is None and self._ids is None:
            return np.argsort(self._rows, kind="stable")
        places: dict[str, int] | None = None
        if block.source is not None:
            before = OpenSource(block.source, self._base).slice(block.first, block.rows)
            ids = before.ids(before.positions(block.first, block.rows))
            places = {sample_id: place for place, sample_id in reversed(list(enumerate(ids)))}
        own = self.ids(np.arange(len(self._rows), dtype=np.int64))
        keys = [_sort_key(sample_id, places) for sample_id in own]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)

    @property
    def origin(self) -> "jinx.Dataset":
        """The dataset to whose rows the positions in `origin_rows` refer: the base, or `dataset` without a base."""
        return self.dataset if self.base is None else self.base

    def origin_rows(self, positions: "Positions") -> "Positions":
        """The positions of rows in `origin`."""
        return self.local(positions) if self.base is None else self.input_rows(positions)

    def own_columns(self) -> list[str]:
        """The columns that any part stores itself, because a row's value differs from the base or is missing."""
        return in_order(name for names in self._own for name in names)

    def has_own(self, positions: "Positions") -> "dict[str, npt.NDArray[np.bool_]]":
        """For each of `own_columns`, the rows whose value differs from the base or is missing; bool of shape (n,)."""
        local = self.local(positions)
        parts = np.searchsorted(np.cumsum([len(part) for part in self.parts]), local, side="right") if self._own else []
        has = {name: np.array([name in names for names in self._own])[parts] for name in self.own_columns()}
        for row, unchanged in enumerate((listed_columns(self.dataset, UNCHANGED, local) or ()) if has else ()):
            for name in unchanged:
                has[name][row] = False
        return has

    @property
    def is_even(self) -> bool:
        """Whether all rows have the same columns of their own, so that they can be copied as the parts show them."""
        marks = {ABSENT, UNCHANGED}.intersection(self.dataset.column_names)
        return not marks and len(set(self._own)) <= 1

    @cached_property
    def _own(self) -> list[frozenset[str]]:
        """For each part, the columns in which a row's value differs from the base or is missing."""
        if self.base is None or not self.source.has_parts:
            return []
        of_base = set(self.base.column_names)
        return [frozenset(_changed_columns(part)) | of_base.difference(part.column_names) for part in self.parts]


def _sort_key(sample_id: str, places: Mapping[str, int] | None) -> tuple[int, ...]:
    """The place of a sample, or of the one from which splitters made it, and the ordinals that they appended.

    Args:
        sample_id: The id of the sample.
        places: The place of each id; None: the row is the place.
    """
    if places is None:
        return tuple(map(int, sample_id.split("/")))
    name, ordinals = sample_id, []
    while name not in places and "/" in name:
        name, _, ordinal = name.rpartition("/")
        ordinals.append(int(ordinal))
    return (places[name], *reversed(ordinals))


def _changed_columns(part: "jinx.Dataset") -> list[str]:
    """The columns that operators have written to a part that is a saved view.

    If the base is a view, its own columns come first in the part; they are not returned.
    """
    own = part._own_columns()
    return [name for name in own[own.index(ROW) :] if name not in PRIVATE]


class _Slice(OpenSource):
    """Some rows or groups of a source with a manifest; positions refer to all parts of the manifest."""

    def __init__(self, whole: OpenSource, manifest: Manifest, first: int, rows: int) -> None:
        start, stop = first, first + rows
        if whole.bounds is not None:
            start, stop = whole.bounds[[first, first + rows]].tolist()
        self._parts = manifest.slice(whole.positions(start, stop - start))
        super().__init__(replace(whole.source, parts=tuple(self._parts.paths), manifest=None), whole)

    def local(self, positions: "Positions") -> "Positions":
        return self._parts.local(positions)


class _Samples(DatasetSource):
    """The samples of a source. The order of columns is the same for all parts."""

    def __init__(self, source: OpenSource) -> None:
        super().__init__(source.dataset)
        self._local = source.local
        self._has_parts = source.source.has_parts
        self._of_base = [] if source.base is None else source.base.column_names

    @cached_property
    def _names(self) -> list[str]:
        names = super().names()
        if not self._of_base:
            return names
        first = [name for name in self._of_base if name in names]
        return [*first, *in_order(name for name in names if name not in first)]

    def names(self) -> list[str]:
        return self._names

    def is_input(self, name: str) -> bool:
        return name in (self._of_base if self._has_parts else self._names)

    def samples(self, positions: "Positions") -> list[MutableMapping[str, Any]]:
        return super().samples(self._local(positions))

    def values(self, positions: "Positions", name: str) -> list[Any]:
        return super().values(self._local(positions), name)

    def strings(self, positions: "Positions", path: str) -> list[str | None] | None:
        return super().strings(self._local(positions), path)

    def numbers(self, positions: "Positions", path: str) -> "npt.NDArray[Any] | None":
        return super().numbers(self._local(positions), path)


class SourceCache:
    """The open sources and base datasets of a worker; the least recently used one is closed."""

    def __init__(self, size: int = 4) -> None:
        self._sources: LeastRecentlyUsed[Source, OpenSource] = LeastRecentlyUsed(size)
        self._bases: LeastRecentlyUsed[Source, BaseDataset] = LeastRecentlyUsed(size)

    def get(self, source: Source) -> OpenSource:
        """The source, open."""
        base = Source(source.base, contents=source.contents, facts=source.facts)
        return self._sources.get(source, lambda: OpenSource(source, self._bases.get(base, lambda: BaseDataset(base))))


K = TypeVar("K")
V = TypeVar("V")


class LeastRecentlyUsed(Generic[K, V]):
    """A cache that drops the least recently used value.

    Args:
        size: The maximum number of values.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key; `make` creates a missing one."""
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        value = self._values[key] = make()
        if len(self._values) > self._size:
            self._values.popitem(last=False)
        return value
