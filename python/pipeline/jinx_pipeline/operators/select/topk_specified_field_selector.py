"""topk_specified_field_selector."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Selector
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.select.sizes import check_size, size_of

if TYPE_CHECKING:
    import numpy.typing as npt


@register("topk_specified_field_selector")
class TopkSpecifiedFieldSelector(Selector):
    """Keeps the samples with the largest values of a field, in the order of the dataset.

    Where both are given, the smaller of `top_ratio` and `topk` counts. Of equal values the first ones are kept; samples
    without a value only if there are too few others.

        create("topk_specified_field_selector", field_key="score", topk=1)([{"score": 1}, {"score": 3}])
        # [{"score": 3}]

    Attributes:
        field_key: A column or path, e.g. `__dj__stats__.text_len`.
        top_ratio: The share of samples to keep, from 0 to 1, rounded down.
        topk: How many samples to keep.
        reverse: True keeps the largest values, False the smallest.
    """

    field_key: str
    top_ratio: float | None = None
    topk: int | None = None
    reverse: bool = True

    def check(self) -> None:
        check_size(self.name, self.top_ratio, self.topk, ("top_ratio", "topk"))

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field_key,)

    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "npt.NDArray[np.int64]":
        values = columns[self.field_key]
        there = [at for at, value in enumerate(values) if value is not None and value == value]  # noqa: PLR0124 - NaN
        try:
            ordered = sorted(there, key=lambda at: values[at], reverse=self.reverse)
        except TypeError as error:
            raise TypeError(f"{self.name}: the values of {self.field_key!r} cannot be compared: {error}") from None
        missing = set(range(count)).difference(there)
        most = size_of(count, self.top_ratio, self.topk)
        return np.sort(np.array([*ordered, *sorted(missing)][:most], dtype=np.int64))
