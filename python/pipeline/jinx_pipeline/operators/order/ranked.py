"""Operators that decide by the order of all samples by some keys."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jinx import _core
from jinx_pipeline.exchange.chunks import chosen
from jinx_pipeline.exchange.key_file import POSITION
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Decision, Keys, Partitioned
from jinx_pipeline.operators.order.sort_keys import PROBED, PROBED_CHARACTERS, Edges, key_columns, python_keys

if TYPE_CHECKING:
    import numpy.typing as npt

_MEMORY = 256_000_000
# Keys that are Python objects at a time.
_CHUNK = 65_536
_NUMBERS, _TEXTS, _MISSING = b"numbers", b"texts", b"missing"


class Ranked(Partitioned):
    """Puts the samples in order by keys, numbers or strings; a task sorts a range of the first key.

    Where the ranges begin is known when all keys are, so one partition holds the keys of a block. If a task cannot take
    them all, they are divided into ranges when the files are merged.
    """

    most_keys: ClassVar[int] = 2_000_000

    @property
    @abstractmethod
    def sort_keys(self) -> list[tuple[str, bool, bool]]:
        """Of each key its path, whether its length is meant, and whether the largest comes first."""

    @property
    def leaves_out_missing(self) -> bool:
        """Whether samples without a key are left out; otherwise they come last."""
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _, _ in self.sort_keys if name))

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        columns: dict[str, pa.Array] = {}
        for at, (name, is_length, _) in enumerate(self.sort_keys):
            columns |= key_columns(at, batch, name, is_length=is_length)
        return pa.table(columns)

    def partitions(self, samples: int, most: int) -> int:
        return 1

    def key_table(self, signatures: pa.Table, kind: int) -> pa.Table:
        del kind
        return signatures.append_column(POSITION, pa.array(np.arange(len(signatures), dtype=np.uint32)))

    def partitioned(
        self, keys: pa.Table, kind: int, partitions: int, edges: Edges | None
    ) -> "tuple[pa.Table, npt.NDArray[np.int64]]":
        del kind
        if edges is None:
            return keys, np.array([0, len(keys)])
        ranges = edges.range_of(keys)
        order = np.argsort(ranges, kind="stable")
        return keys.take(pa.array(order)), np.searchsorted(ranges[order], np.arange(partitions + 1))

    def sample(self, keys: pa.Table) -> pa.Table:
        rows = np.unique(np.linspace(0, max(len(keys) - 1, 0), PROBED).astype(np.int64))[: len(keys)]
        some = keys.take(pa.array(rows))
        shortened = pc.utf8_slice_codeunits(some.column("text_0"), 0, PROBED_CHARACTERS)
        return some.set_column(some.column_names.index("text_0"), "text_0", shortened)

    def edges(self, samples: Iterator[pa.Table], partitions: int) -> Edges:
        return Edges.of(samples, partitions, is_descending=self.sort_keys[0][2])

    def look(self, keys: Keys, look: int) -> pa.Table:
        directions = [is_descending for _, _, is_descending in self.sort_keys]
        sorter = _core.SortKeys(
            [(is_descending, False) for is_descending in directions], keys.folder, _MEMORY, self.leaves_out_missing
        )
        found: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        seen = _Seen(len(directions))
        for start, table in keys.read(look):
            found.append(table.column(POSITION).to_numpy().astype(np.int64) + start)
            seen.see(table, found[-1])
            if seen.is_mixed():
                break  # `decide` will refuse them
            for first in range(0, len(table), _CHUNK):
                part = table.slice(first, _CHUNK)
                sorter.add_values(list(zip(*(python_keys(part, at) for at in range(len(directions))), strict=True)))
        places, missing = np.concatenate(found), 0
        if not seen.is_mixed():
            ordering, missing = sorter.finish()
            places = places[np.frombuffer(ordering.positions(0, len(ordering)), dtype="<u8").astype(np.int64)]
        return pa.table({"place": places}).replace_schema_metadata({**seen.noted(), _MISSING: str(missing).encode()})

    def in_order(self, found: Sequence[pa.Table]) -> "tuple[list[npt.NDArray[np.int64]], int]":
        """The positions of all samples in order, from what the tasks have found, and how many lack a key.

        The positions are in arrays one after another.

        Raises:
            ValueError: A key is a number in one sample and a string in another.
        """
        notes: list[dict[bytes, bytes]] = [one.schema.metadata for one in found]
        for at, (name, _, _) in enumerate(self.sort_keys):
            number, text = (_first(notes, kind, at) for kind in (_NUMBERS, _TEXTS))
            if number is not None and text is not None:
                raise ValueError(
                    f"{self.name}: {name!r} is a number in sample {number} and a string in sample {text}, counted "
                    "after the operators before it; numbers and strings have no common order"
                )
        return [table["place"].to_numpy() for table in found], sum(int(note[_MISSING]) for note in notes)

    def of_ranks(self, keys: Keys, found: Sequence[pa.Table], first: int, stop: int) -> Decision:
        """The samples with some ranks, in the order of the dataset; see `in_order`."""
        is_chosen = np.zeros(len(keys), np.bool_)
        start = 0
        for places in self.in_order(found)[0]:
            is_chosen[places[max(first - start, 0) : max(stop - start, 0)]] = True
            start += len(places)
        return Decision(chosen(is_chosen))


class _Seen:
    """The first samples whose key is a number, and a string."""

    def __init__(self, keys: int) -> None:
        self._first: dict[bytes, list[int | None]] = {_NUMBERS: [None] * keys, _TEXTS: [None] * keys}

    def see(self, table: pa.Table, places: "npt.NDArray[np.int64]") -> None:
        for kind, name in ((_NUMBERS, "number"), (_TEXTS, "text")):
            for at, known in enumerate(self._first[kind]):
                if known is None:
                    there = table.column(f"{name}_{at}").is_valid().to_numpy()
                    if there.any():
                        self._first[kind][at] = int(places[int(there.argmax())])

    def is_mixed(self) -> bool:
        numbers, texts = self._first[_NUMBERS], self._first[_TEXTS]
        return any(a is not None and b is not None for a, b in zip(numbers, texts, strict=True))

    def noted(self) -> dict[bytes, bytes]:
        return {
            kind: ",".join("" if one is None else str(one) for one in found).encode()
            for kind, found in self._first.items()
        }


def _first(notes: list[dict[bytes, bytes]], kind: bytes, at: int) -> int | None:
    places: list[Any] = [one[kind].decode().split(",")[at] for one in notes]
    return min((int(place) for place in places if place), default=None)
