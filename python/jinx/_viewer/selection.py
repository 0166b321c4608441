"""The samples that a query shows, in order: computed once, and searched in the background."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx import _core
from jinx._core import Reader
from jinx._dataset.added_columns import with_columns
from jinx._dataset.columns import column, column_names, parse_name
from jinx._dataset.expression import matching
from jinx._dataset.selection import at, sort
from jinx._viewer.charts import Charts
from jinx._viewer.kept import Keeping, Kept
from jinx._viewer.query import Brush, Query, SortKey
from jinx.errors import InvalidError, LimitError

if TYPE_CHECKING:
    import numpy.typing as npt

    from jinx._viewer.kept import Samples

# Sample numbers take 4 bytes.
_MOST_SAMPLES = 1 << 32
# Memory for selections and orders that may be requested again: an order of all samples takes 4 bytes per sample, and a
# selection one bit.
_KEPT_BYTES = 5
_ORDER_BYTES = 4
_LEAST_KEPT_BYTES = 8 << 20
# An expression takes 8 bytes for each sample that it keeps. If it keeps a larger share than this, it is evaluated in
# parts, which takes several times as long.
_MOST_WHOLE = 0.1
_FILTERED_PART = 1 << 18
# The first block of a search is small, so that its hits come at once; later blocks are larger, to use all cores.
_FIRST_BLOCK = 1 << 14
_LARGEST_BLOCK = 1 << 18


class Search:
    """A word search that runs in its own thread and can be cancelled.

    Args:
        dataset: Where to search.
        word: The word.
        among: The samples to search; None: all.
    """

    def __init__(self, dataset: Reader, word: str, among: Kept | None) -> None:
        self._dataset = dataset
        self._word = word
        self._among = among
        self._hits = Keeping(len(dataset))
        self._cancelled = threading.Event()
        self.done = threading.Event()
        self.error: Exception | None = None
        threading.Thread(target=self._run, name="jinx view search", daemon=True).start()

    def _run(self) -> None:
        block, start, samples = _FIRST_BLOCK, 0, len(self._dataset if self._among is None else self._among)
        try:
            while start < samples and not self._cancelled.is_set():
                stop = min(start + block, samples)
                self._hits.add(self._found(start, stop))
                start = stop
                block = min(block * 2, _LARGEST_BLOCK)
        except Exception as error:  # noqa: BLE001 - raised again when the hits are requested
            self.error = error
        self.done.set()

    def _found(self, start: int, stop: int) -> "Samples":
        if self._among is None:
            found = _core.view_search(self._dataset, self._word, start, stop, stop - start)
            return np.array(found, dtype=np.uint32)
        numbers = self._among.numbers(start, stop)
        part = at(self._dataset, numbers.astype(np.int64))
        return numbers[np.array(_core.view_search(part, self._word, 0, len(part), len(part)), dtype=np.int64)]

    @property
    def hits(self) -> Kept:
        """The samples found so far."""
        if self.error is not None:
            raise self.error
        return self._hits.kept()

    def cancel(self) -> None:
        """Stop after the current block."""
        self._cancelled.set()


class Selections:
    """The selections of one dataset.

    Args:
        dataset: The dataset.
        charts: Its charts, whose codes answer brushes.
    """

    def __init__(self, dataset: Reader, charts: Charts) -> None:
        if len(dataset) > _MOST_SAMPLES:
            raise LimitError(f"the viewer shows at most {_MOST_SAMPLES:,} samples, and these are {len(dataset):,}")
        self._dataset = dataset
        self._charts = charts
        self._lock = threading.RLock()
        self._cache: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._search: tuple[Any, Search] | None = None

    def page(self, query: Query, start: int, count: int) -> tuple["list[int] | range", int, bool]:
        """The samples of a page, the total number in the query, and whether that is final."""
        kept, is_complete = self.kept(query)
        total = len(self._dataset) if kept is None else len(kept)
        stop = min(start + count, total)
        if query.sort and is_complete:
            return self._sorted_page(query, kept, start, count), total, True
        page = range(start, stop) if kept is None else kept.numbers(start, stop).tolist()
        return page, total, is_complete

    def place_of(self, query: Query, sample: int) -> int | None:
        """The position of a sample in an unsorted query; None if the sample is not in it, or the query is sorted."""
        kept, _ = self.kept(query)
        if query.sort:
            return None
        return sample if kept is None else kept.place_of(sample)

    def kept(self, query: Query) -> tuple[Kept | None, bool]:
        """The samples of a query (None: all), and whether the search for its word is done."""
        coded, others = self._divided(query)
        kept, is_complete = self._found(others)
        if not coded:
            return kept, is_complete
        key = ("kept", others, tuple(coded.items()))
        if not is_complete:
            return self._brushed(coded, kept), False
        return self._cached(key, lambda: self._brushed(coded, kept)), True

    def wait(self, query: Query) -> None:
        """Wait until the search for the word of a query is done."""
        _, others = self._divided(query)
        self._found(others)
        search = self._search
        if query.find and search is not None:
            search[1].done.wait()

    def counts(self, query: Query, names: list[str]) -> tuple[list[Any], int, bool]:
        """For each column, how many samples of each code the other charts keep; how many all keep; if this is final."""
        coded, others = self._divided(query)
        kept, is_complete = self._found(others)
        counts, total = self._charts.counts(names, coded, None if kept is None else kept.to_bytes())
        return counts, total, is_complete

    def _divided(self, query: Query) -> tuple[dict[str, Brush], Query]:
        """The brushes that can be evaluated with codes, and the query with everything else."""
        coded: dict[str, Brush] = {}
        conditions = [f"({query.where})"] if query.where else []
        for brush in query.brushes:
            column = self._charts.coded(brush.column)
            if column is not None and column.kept(brush) is not None:
                coded[brush.column] = brush
            else:
                conditions.append(brush.expression)
        where = query.where if len(conditions) < 2 and query.where else " and ".join(conditions)  # noqa: PLR2004
        return coded, replace(query, where=where, brushes=(), sort="")

    def _found(self, query: Query) -> tuple[Kept | None, bool]:
        """The samples that match a filter and a word."""
        filtered = self._cached(("where", query.where), lambda: self._filtered(query.where)) if query.where else None
        if not query.find:
            return filtered, True
        search = self._searching(query, filtered)
        is_done = search.done.is_set()
        return search.hits, is_done

    def _filtered(self, where: str) -> Kept:
        own = self._dataset._indices
        if own is not None:
            # The condition depends only on the stored sample, so a sample that is shown twice is kept twice.
            is_chosen = np.zeros(self._dataset._base_len(), dtype=bool)
            is_chosen[_positions(matching(self._dataset, where))] = True
            return self._keeping([np.flatnonzero(is_chosen[np.frombuffer(own, dtype="<u8")])])
        if len(self._dataset) > _FILTERED_PART:
            # If no sample of a part has the path, or has it with another type, this says nothing about the whole.
            with suppress(KeyError, InvalidError):
                first = matching(self._dataset[:_FILTERED_PART], where)
                if len(first) > _MOST_WHOLE * _FILTERED_PART:
                    starts = range(_FILTERED_PART, len(self._dataset), _FILTERED_PART)
                    parts = (matching(self._dataset[start : start + _FILTERED_PART], where) for start in starts)
                    return self._keeping(map(_positions, chain([first], parts)))
                self._make_room(8 * len(self._dataset) * len(first) // _FILTERED_PART)
        return self._keeping([_positions(matching(self._dataset, where))])

    def _keeping(self, parts: "Iterable[npt.NDArray[np.integer]]") -> Kept:
        keeping = Keeping(len(self._dataset))
        for part in parts:
            keeping.add(part)
        return keeping.kept()

    def _searching(self, query: Query, filtered: Kept | None) -> Search:
        with self._lock:
            if self._search is None or self._search[0] != query:
                if self._search is not None:
                    self._search[1].cancel()
                self._search = (query, Search(self._dataset, query.find, filtered))
            return self._search[1]

    def _brushed(self, coded: dict[str, Brush], kept: Kept | None) -> Kept:
        columns = [(self._charts.coded(name), brush) for name, brush in coded.items()]
        pairs = [(column.codes, column.kept(brush) or b"\0" * 256) for column, brush in columns if column]
        among = None if kept is None else kept.to_bytes()
        bits = _core.view_kept(pairs, among, len(self._dataset))
        return Kept(np.frombuffer(bits, dtype=np.uint8), len(self._dataset))

    def _sorted_page(self, query: Query, kept: Kept | None, start: int, count: int) -> list[int]:
        samples = len(self._dataset) if kept is None else len(kept)
        pages = self._cached(("sort", query), lambda: self._pages(query, kept), _ORDER_BYTES * samples)
        if isinstance(pages, np.ndarray):
            return pages[start : start + count].tolist()
        found = pages.page(start, count)
        if found is None:
            found = pages.page(start, count, self._numbers(query.sort))
        return np.frombuffer(found, dtype="<u4").tolist()

    def _pages(self, query: Query, kept: Kept | None) -> Any:
        numbers = self._numbers(query.sort)
        if numbers is not None:
            key = SortKey.parse(query.sort, column_names(self._dataset))
            return _core.SortedPages(numbers, None if kept is None else kept.to_bytes(), key.descending)
        # Columns other than numbers are sorted at once. The added column of positions shows which sample comes where.
        chosen = None if kept is None else kept.numbers(0, len(kept)).astype(np.int64)
        plain = self._dataset if chosen is None else at(self._dataset, chosen)
        places = np.arange(len(plain), dtype=np.int64)
        tagged = sort(with_columns(plain, {_PLACE: places}, None, "null"), query.sort, reverse=False)
        order = np.asarray(column(tagged, _PLACE), dtype=np.int64)
        return (order if chosen is None else chosen[order]).astype(np.uint32)

    def _numbers(self, sort: str) -> Any:
        key = SortKey.parse(sort, column_names(self._dataset))
        path = parse_name(self._dataset, key.name)
        return _core.ViewNumbers.read(self._dataset, path, "length" if key.by_length else "value")

    def _cached(self, key: Any, make: Callable[[], Any], order_bytes: int = 0) -> Any:
        with self._lock:
            if key not in self._cache:
                self._make_room(order_bytes)
                made = make()
                self._cache[key] = made, getattr(made, "nbytes", order_bytes)
                self._make_room(0, least=1)
            self._cache.move_to_end(key)
            return self._cache[key][0]

    def _make_room(self, wanted: int, least: int = 0) -> None:
        """Drop what was not requested for longest; at least `least` entries stay."""
        most = max(_LEAST_KEPT_BYTES, _KEPT_BYTES * len(self._dataset))
        while len(self._cache) > least and sum(size for _, size in self._cache.values()) + wanted > most:
            self._cache.popitem(last=False)


def _positions(dataset: Reader) -> "npt.NDArray[np.integer]":
    """The positions of the samples of a dataset in its files."""
    own = dataset._indices
    return np.arange(len(dataset)) if own is None else np.frombuffer(own, dtype="<u8")


_PLACE = "\0place"
