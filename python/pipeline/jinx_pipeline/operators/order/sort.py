"""Sorts all samples: the operator `sort`."""

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from jinx._dataset.sort_order import parse_key
from jinx_pipeline.exchange.chunks import Chunks
from jinx_pipeline.operators.api.keyed import Decision, Keys
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.order.ranked import Ranked


@register("sort")
class Sort(Ranked):
    """Sorts all samples by one or more keys, as `jinx sort` does; samples with equal keys keep their order.

    Numbers are sorted by value and strings by code points. A key that is a number in one sample and a string in another
    stops the run, and the error names both samples. A sample whose key is neither is left out and reported.

        create("sort", by="-n")([{"n": 1}, {"n": 3}, {"n": None}])  # [{"n": 3}, {"n": 1}, {"n": None}]

    Attributes:
        by: A column, a path, or `len(path)` (elements of a list, characters of a string, bytes of a value), or a list
            of them; a `-` before a key sorts it in descending order.
        descending: Reverses the order of all keys.
        missing: For samples without a key: `last` puts them at the end in both directions, `drop` leaves them out, and
            `fail` stops the run.
    """

    kind = "order"
    takes_missing = True
    by: str | list[str]
    descending: bool = False
    missing: Literal["last", "drop", "fail"] = "last"

    def check(self) -> None:
        names = [name for name, _, _ in self._parsed()]
        if not names or not all(names):
            raise ParameterError(self.name, "by", "by is empty; name a column, a path or len(path)")

    @property
    def sort_keys(self) -> list[tuple[str, bool, bool]]:
        return [(name, is_length, is_reversed != self.descending) for name, is_length, is_reversed in self._parsed()]

    @property
    def leaves_out_missing(self) -> bool:
        return self.missing == "drop"

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        order, missing = self.in_order(looks)
        if missing and self.missing == "fail":
            raise ValueError(
                f"{self.name}: {missing:,} of {len(keys):,} samples lack a key; missing: last puts them at the end, "
                "drop leaves them out"
            )
        return Decision(Chunks(lambda: iter(order)), counts={"missing": missing})

    def _parsed(self) -> list[tuple[str, bool, bool]]:
        """For each key: its path, whether its length is the key, and whether a `-` reverses it."""
        return [parse_key(key, []) for key in ([self.by] if isinstance(self.by, str) else self.by)]
