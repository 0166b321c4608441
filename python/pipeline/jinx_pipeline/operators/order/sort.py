"""sort."""

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
    """Puts all samples into the order of one or more keys, as `jinx sort` does; equal ones keep their order.

    Numbers come in the order of their values and strings in that of their code points. A key that is a number in one
    sample and a string in another stops the run, and both samples are named. A sample whose key is neither is left
    out and reported.

        create("sort", by="-n")([{"n": 1}, {"n": 3}, {"n": None}])  # [{"n": 3}, {"n": 1}, {"n": None}]

    Attributes:
        by: A column, a path, or `len(path)` (elements of a list, characters of a string, bytes of a value), or a list
            of them; a `-` before one sorts it in descending order.
        descending: Reverses the order of all keys.
        missing: Samples without a key come `last` in both directions, or `drop` leaves them out, or `fail` stops the
            run.
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

    def decide(self, keys: Keys, found: Sequence[pa.Table]) -> Decision:
        order, missing = self.in_order(found)
        if missing and self.missing == "fail":
            raise ValueError(
                f"{self.name}: {missing:,} of {len(keys):,} samples lack a key; missing: last puts them at the end, "
                "drop leaves them out"
            )
        return Decision(Chunks(lambda: iter(order)), counts={"missing": missing})

    def _parsed(self) -> list[tuple[str, bool, bool]]:
        """Of each key its path, whether its length is meant, and whether a `-` reverses it."""
        return [parse_key(key, []) for key in ([self.by] if isinstance(self.by, str) else self.by)]
