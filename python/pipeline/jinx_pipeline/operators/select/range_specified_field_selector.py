"""range_specified_field_selector."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Selector
from jinx_pipeline.operators.parameters import ParameterError
from jinx_pipeline.operators.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("range_specified_field_selector")
class RangeSpecifiedFieldSelector(Selector):
    """Keeps the samples whose rank by a field lies in a window, in the order of the dataset.

    The smallest value has rank 0; a window has its lower bound and not its upper one. Where a percentile and a rank are
    given, the narrower window counts. Samples without a value have no rank and are not kept.

        create("range_specified_field_selector", field_key="n", lower_rank=1, upper_rank=2)([{"n": 3}, {"n": 5}])
        # [{"n": 5}]

    Attributes:
        field_key: A column or path.
        lower_percentile: Where the window starts, as a share of all ranks from 0 to 1.
        upper_percentile: Where it ends.
        lower_rank: Where it starts, as a rank.
        upper_rank: Where it ends.
    """

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
    def reads(self) -> tuple[str, ...]:
        return (self.field_key,) if self.field_key else ()

    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "npt.NDArray[np.int64]":
        if not self.field_key:
            return np.arange(count, dtype=np.int64)
        values = columns[self.field_key]
        there = [at for at, value in enumerate(values) if value is not None and value == value]  # noqa: PLR0124 - NaN
        try:
            ordered = sorted(there, key=lambda at: values[at])
        except TypeError as error:
            raise TypeError(f"{self.name}: the values of {self.field_key!r} cannot be compared: {error}") from None
        low, high = self.lower_rank or 0, len(ordered) if self.upper_rank is None else self.upper_rank
        if self.lower_percentile is not None:
            low = max(low, math.floor(self.lower_percentile * len(ordered)))
        if self.upper_percentile is not None:
            high = min(high, math.floor(self.upper_percentile * len(ordered)))
        return np.sort(np.array(ordered[low:high], dtype=np.int64))
