"""Filters by a range of numbers: the operator `specified_numeric_field_filter`."""

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.condition_filter import ConditionFilter
from jinx_pipeline.operators.api.parameters import check_bounds
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("specified_numeric_field_filter")
class SpecifiedNumericFieldFilter(ConditionFilter):
    """Keeps samples whose number in a field is within a range; in a list, each number must be.

    A string that holds a number counts as a number. Other values are not kept. Without a field all samples stay.
    Integers of any size are compared exactly.

        create("specified_numeric_field_filter", field_key="n", min_value=2)([{"n": 1}, {"n": "2.5"}])  # [{"n": "2.5"}]

    Attributes:
        field_key: A column or path.
        min_value: The smallest number.
        max_value: The largest number.
    """

    field_key: str = ""
    # Not only `float`: some integers above 2**53, such as ids and times in nanoseconds, have no equal float.
    min_value: int | float = -math.inf
    max_value: int | float = math.inf

    def check(self) -> None:
        check_bounds(self, "min_value", "max_value")

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field_key,) if self.field_key else ()

    def holds(self, batch: Batch) -> "npt.NDArray[np.bool_]":
        if not self.field_key:
            return np.ones(len(batch), dtype=np.bool_)
        stored = batch.stored_numbers(self.field_key)
        if stored is not None:
            return self._inside(stored)
        return np.array([self._holds(value) for value in batch.column(self.field_key)], dtype=np.bool_)

    def _inside(self, values: "npt.NDArray[Any]") -> "npt.NDArray[np.bool_]":
        least, largest = self.min_value, self.max_value
        if values.dtype.kind == "f":
            # If an integer has no equal float, floats must be compared with the next float, not with the nearest.
            least, largest = _float_beside(least, math.inf), _float_beside(largest, -math.inf)
        else:
            # Integers are compared exactly.
            least = math.ceil(least) if math.isfinite(least) else least
            largest = math.floor(largest) if math.isfinite(largest) else largest
        mask = np.ma.asarray((values >= least) & (values <= largest))
        return mask.filled(fill_value=False)

    def _holds(self, value: Any) -> bool:
        if isinstance(value, list | tuple):
            return bool(value) and all(self._holds(element) for element in value)
        if isinstance(value, str):
            value = _number_in(value)
        if isinstance(value, np.number):
            value = value.item()
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.min_value <= value <= self.max_value


def _number_in(text: str) -> float | None:
    """The number in a text; exact if it is an integer. None if it holds none."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return None


def _float_beside(number: float, towards: float) -> float:
    """The float that equals a number or, if none does, the next one in a direction."""
    try:
        nearest = float(number)
    except OverflowError:
        nearest = math.inf if number > 0 else -math.inf
    return nearest if nearest == number or (nearest > number) == (towards > 0) else math.nextafter(nearest, towards)
