"""Operators that sort all samples by keys, and decide according to the order."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

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
# The number of keys that are Python objects at a time.
_CHUNK = 65_536
_NUMBERS, _TEXTS, _MISSING = b"numbers", b"texts", b"missing"


class Ranked(Partitioned):
    """Orders samples by keys, which are numbers or strings; each task sorts a range of the first key.

    The ranges are only known when all keys are known, so the keys of a block are one partition. If they are too many
    for a task, they are divided into ranges when the files are merged.
    """

    most_keys: ClassVar[int] = 2_000_000

    @property
    @abstractmethod
    def sort_keys(self) -> list[tuple[str, bool, bool]]:
        """For each key: its path, whether its length is the key, and whether the largest comes first."""

    @property
    def leaves_out_missing(self) -> bool:
        """Whether samples without a key are dropped; otherwise they come last."""
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _, _ in self.sort_keys if name))

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        columns: dict[str, pa.Array] = {}
        for number, (name, is_length, _) in enumerate(self.sort_keys):
            columns |= key_columns(number, batch, name, is_length=is_length)
        return pa.table(columns)

    def partitions(self, samples: int, max_keys: int) -> int:
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
        import pyarrow.compute as pc  # slower to import than the rest of Arrow

        rows = np.unique(np.linspace(0, max(len(keys) - 1, 0), PROBED).astype(np.int64))[: len(keys)]
        sampled = keys.take(pa.array(rows))
        shortened = pc.utf8_slice_codeunits(sampled.column("text_0"), 0, PROBED_CHARACTERS)
        return sampled.set_column(sampled.column_names.index("text_0"), "text_0", shortened)

    def edges(self, samples: Iterator[pa.Table], partitions: int) -> Edges:
        return Edges.of(samples, partitions, is_descending=self.sort_keys[0][2])

    def look(self, keys: Keys, look: int) -> pa.Table:
        directions = [is_descending for _, _, is_descending in self.sort_keys]
        sorter = _core.SortKeys(
            [(is_descending, False) for is_descending in directions], keys.folder_here, _MEMORY, self.leaves_out_missing
        )
        positions: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        kinds = _KeyKinds(len(directions))
        for start, table in keys.read(look):
            positions.append(table.column(POSITION).to_numpy().astype(np.int64) + start)
            kinds.add(table, positions[-1])
            if kinds.is_mixed():
                break  # `decide` refuses such keys
            for first in range(0, len(table), _CHUNK):
                part = table.slice(first, _CHUNK)
                columns = (python_keys(part, number) for number in range(len(directions)))
                sorter.add_values(list(zip(*columns, strict=True)))
        places, missing = np.concatenate(positions), 0
        if not kinds.is_mixed():
            ordering, missing = sorter.finish()
            places = places[np.frombuffer(ordering.positions(0, len(ordering)), dtype="<u8").astype(np.int64)]
        metadata = {**kinds.metadata(), _MISSING: str(missing).encode()}
        return pa.table({"place": places}).replace_schema_metadata(metadata)

    def in_order(self, looks: Sequence[pa.Table]) -> "tuple[list[npt.NDArray[np.int64]], int]":
        """The positions of all samples in order, from the results of the tasks, and how many samples lack a key.

        The positions are in several arrays, to be concatenated.

        Raises:
            ValueError: A key is a number in one sample and a string in another.
        """
        notes: list[dict[bytes, bytes]] = [table.schema.metadata for table in looks]
        for key, (name, _, _) in enumerate(self.sort_keys):
            number, text = (_first(notes, kind, key) for kind in (_NUMBERS, _TEXTS))
            if number is not None and text is not None:
                raise ValueError(
                    f"{self.name}: {name!r} is a number in sample {number} and a string in sample {text}, counted "
                    "after the operators before it; numbers and strings have no common order"
                )
        return [table["place"].to_numpy() for table in looks], sum(int(note[_MISSING]) for note in notes)

    def of_ranks(self, keys: Keys, looks: Sequence[pa.Table], first: int, stop: int) -> Decision:
        """The samples with ranks in a range, in the order of the dataset; see `in_order`."""
        is_chosen = np.zeros(len(keys), np.bool_)
        start = 0
        for places in self.in_order(looks)[0]:
            is_chosen[places[max(first - start, 0) : max(stop - start, 0)]] = True
            start += len(places)
        return Decision(chosen(is_chosen))


class _KeyKinds:
    """For each key, the first sample with a number and the first sample with a string."""

    def __init__(self, keys: int) -> None:
        self._first: dict[bytes, list[int | None]] = {_NUMBERS: [None] * keys, _TEXTS: [None] * keys}

    def add(self, table: pa.Table, places: "npt.NDArray[np.int64]") -> None:
        for kind, name in ((_NUMBERS, "number"), (_TEXTS, "text")):
            for key, first in enumerate(self._first[kind]):
                if first is None:
                    is_present = table.column(f"{name}_{key}").is_valid().to_numpy()
                    if is_present.any():
                        self._first[kind][key] = int(places[int(is_present.argmax())])

    def is_mixed(self) -> bool:
        numbers, texts = self._first[_NUMBERS], self._first[_TEXTS]
        return any(a is not None and b is not None for a, b in zip(numbers, texts, strict=True))

    def metadata(self) -> dict[bytes, bytes]:
        return {
            kind: ",".join("" if place is None else str(place) for place in places).encode()
            for kind, places in self._first.items()
        }


def _first(notes: list[dict[bytes, bytes]], kind: bytes, key: int) -> int | None:
    places: list[Any] = [note[kind].decode().split(",")[key] for note in notes]
    return min((int(place) for place in places if place), default=None)
