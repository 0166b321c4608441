"""Operators that decide by the order of all samples by some keys."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx import _core
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Divided, Keys
from jinx_pipeline.operators.order.sort_keys import Edges, key_columns, python_keys

if TYPE_CHECKING:
    import numpy.typing as npt

_MEMORY = 256_000_000
_ROWS_OF_A_SHARE = 2_000_000
# Keys that are Python objects at a time.
_CHUNK = 65_536
_NUMBERS, _TEXTS, _MISSING = b"numbers", b"texts", b"missing"


class Ranked(Divided):
    """Puts the samples in order by keys, numbers or strings; a task sorts a range of the first key."""

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

    def shares(self, keys: Keys) -> int:
        return keys.shares_of(len(keys), _ROWS_OF_A_SHARE)

    def look(self, keys: Keys, share: int, shares: int) -> pa.Table:
        directions = [is_descending for _, _, is_descending in self.sort_keys]
        edges = Edges.of(keys.tables, shares, is_descending=directions[0])
        sorter = _core.SortKeys([(one, False) for one in directions], keys.folder, _MEMORY, self.leaves_out_missing)
        found: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        seen = _Seen(len(directions))
        for start, table in keys.placed():
            chosen = np.flatnonzero(edges.share_of(table) == share)
            seen.see(table, chosen, start)
            found.append(chosen + start)
            if seen.is_mixed():
                break  # `decide` will refuse them
            for first in range(0, len(chosen), _CHUNK):
                part = table.take(pa.array(chosen[first : first + _CHUNK]))
                sorter.add_values(list(zip(*(python_keys(part, at) for at in range(len(directions))), strict=True)))
        places, missing = np.concatenate(found), 0
        if not seen.is_mixed():
            ordering, missing = sorter.finish()
            places = places[np.frombuffer(ordering.positions(0, len(ordering)), dtype="<u8").astype(np.int64)]
        return pa.table({"place": places}).replace_schema_metadata({**seen.noted(), _MISSING: str(missing).encode()})

    def in_order(self, keys: Keys, found: Sequence[pa.Table]) -> "tuple[npt.NDArray[np.int64], int]":
        """The positions of all samples in order, from what the tasks have found, and how many lack a key.

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
        places = np.concatenate([np.empty(0, np.int64), *(one["place"].to_numpy() for one in found)])
        return places, sum(int(one[_MISSING]) for one in notes)


class _Seen:
    """The first samples whose key is a number, and a string."""

    def __init__(self, keys: int) -> None:
        self._first: dict[bytes, list[int | None]] = {_NUMBERS: [None] * keys, _TEXTS: [None] * keys}

    def see(self, table: pa.Table, chosen: "npt.NDArray[np.int64]", start: int) -> None:
        for kind, name in ((_NUMBERS, "number"), (_TEXTS, "text")):
            for at, known in enumerate(self._first[kind]):
                if known is None:
                    there = table.column(f"{name}_{at}").is_valid().to_numpy()[chosen]
                    if there.any():
                        self._first[kind][at] = start + int(chosen[int(there.argmax())])

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
