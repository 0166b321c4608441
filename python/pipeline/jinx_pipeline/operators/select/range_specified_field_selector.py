"""Selects samples by a range of ranks: the operator `range_specified_field_selector`."""

import math
from collections.abc import Sequence

import pyarrow as pa

from jinx_pipeline.exchange.chunks import all_positions
from jinx_pipeline.operators.api.keyed import Decision, Keys
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.order.ranked import Ranked


@register("range_specified_field_selector")
class RangeSpecifiedFieldSelector(Ranked):
    """Keeps the samples whose rank by a field is within a range, in the order of the dataset.

    The smallest value has rank 0; a window includes its lower bound and excludes its upper bound. If a percentile and a
    rank are given, the narrower window counts. Samples without a value have no rank and are not kept. Values are
    numbers or strings; a sample whose value is neither is left out and reported.

        create("range_specified_field_selector", field_key="n", lower_rank=1, upper_rank=2)([{"n": 3}, {"n": 5}])
        # [{"n": 5}]

    Attributes:
        field_key: A column or path; if empty, all samples are kept.
        lower_percentile: The start of the window, as a share of all ranks from 0 to 1.
        upper_percentile: The end of the window, as a share.
        lower_rank: The start of the window, as a rank.
        upper_rank: The end of the window, as a rank.
    """

    kind = "selector"
    field_key: str = ""
    lower_percentile: float | None = None
    upper_percentile: float | None = None
    lower_rank: int | None = None
    upper_rank: int | None = None

    def check(self) -> None:
        if self.lower_percentile is None and self.lower_rank is None:
            raise ParameterError(self.name, "lower_rank", "give lower_percentile or lower_rank")
        if self.upper_percentile is None and self.upper_rank is None:
            raise ParameterError(self.name, "upper_rank", "give upper_percentile or upper_rank")
        for name in ("lower_percentile", "upper_percentile"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ParameterError(self.name, name, f"{name} is {value}; it lies between 0 and 1")
        for name in ("lower_rank", "upper_rank"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ParameterError(self.name, name, f"{name} is {value}; it is not negative")

    @property
    def sort_keys(self) -> list[tuple[str, bool, bool]]:
        return [(self.field_key, False, False)]

    @property
    def leaves_out_missing(self) -> bool:
        return True

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        if not self.field_key:
            return Decision(all_positions(len(keys)))
        ranked = sum(len(table) for table in looks)
        low, high = self.lower_rank or 0, ranked if self.upper_rank is None else self.upper_rank
        if self.lower_percentile is not None:
            low = max(low, math.floor(self.lower_percentile * ranked))
        if self.upper_percentile is not None:
            high = min(high, math.floor(self.upper_percentile * ranked))
        return self.of_ranks(keys, looks, low, high)
