"""Groups samples by fields: the operator `key_value_grouper`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.exchange.chunks import Chunks, by_range
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.equal_values import EqualValues
from jinx_pipeline.operators.api.key_texts import key_texts
from jinx_pipeline.operators.api.keyed import Decision, Keys
from jinx_pipeline.operators.api.operator_kinds import Grouper
from jinx_pipeline.operators.api.parameters import Words
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("key_value_grouper")
class KeyValueGrouper(Grouper, EqualValues):
    """Groups samples that have the same values in some fields; a missing value counts as a value.

    1 and 1.0 are the same value, as in a column of Arrow or Data-Juicer; true and "1" are different values.

        create("key_value_grouper", group_by_keys=["lang"])([{"lang": "en", "n": 1}, {"lang": "en", "n": 2}])
        # [{"lang": ["en", "en"], "n": [1, 2]}]

    Attributes:
        group_by_keys: Columns or paths.
    """

    version = 3
    takes_missing = True
    group_by_keys: Words

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.group_by_keys)

    def value_texts(self, batch: Batch) -> list[str]:
        return key_texts([batch.column(path) for path in self.group_by_keys], len(batch))

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        count = len(keys)
        return Decision(
            Chunks(lambda: (places for places, _ in _groups(looks, count))), Chunks(lambda: _bounds(looks, count))
        )

    def group(self, columns: Mapping[str, Sequence[Any]], count: int) -> "list[npt.NDArray[np.int64]]":
        groups: dict[str, list[int]] = {}
        for position, key in enumerate(key_texts([columns[name] for name in self.group_by_keys], count)):
            groups.setdefault(key, []).append(position)
        return [np.array(places, dtype=np.int64) for places in groups.values()]


def _groups(looks: Sequence[pa.Table], count: int) -> "Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]":
    """All positions in the order of their groups, with the first position of each group, in chunks."""
    for _, _, rows in by_range(looks, "first", count):
        firsts = rows.column("first").to_numpy()
        # All samples of a group are in the same table, in their order.
        order = np.argsort(firsts, kind="stable")
        yield rows.column("place").to_numpy()[order], firsts[order]


def _bounds(looks: Sequence[pa.Table], count: int) -> "Iterator[npt.NDArray[np.int64]]":
    start = 0
    for _, firsts in _groups(looks, count):
        yield np.flatnonzero(np.diff(firsts, prepend=-1)) + start
        start += len(firsts)
    yield np.array([start])
