"""frequency_specified_field_selector."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Selector
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.select.sizes import check_size, size_of

if TYPE_CHECKING:
    import numpy.typing as npt


@register("frequency_specified_field_selector")
class FrequencySpecifiedFieldSelector(Selector):
    """Keeps the samples with the most frequent values of a field, in the order of the dataset.

    Where both are given, the smaller of `top_ratio` and `topk` counts; both are of different values. Of equally
    frequent values those that come first are kept. A missing value is a value.

        create("frequency_specified_field_selector", field_key="k", topk=1)([{"k": 1}, {"k": 2}, {"k": 2}])
        # [{"k": 2}, {"k": 2}]

    Attributes:
        field_key: A column or path.
        top_ratio: The share of different values to keep, from 0 to 1, rounded down.
        topk: How many different values to keep.
        reverse: True keeps the most frequent values, False the least frequent.
    """

    field_key: str = ""
    top_ratio: float | None = None
    topk: int | None = None
    reverse: bool = True

    def check(self) -> None:
        check_size(self.name, self.top_ratio, self.topk, ("top_ratio", "topk"))

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field_key,) if self.field_key else ()

    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "npt.NDArray[np.int64]":
        if not self.field_key:
            return np.arange(count, dtype=np.int64)
        keys = [json.dumps(value, sort_keys=True, default=repr) for value in columns[self.field_key]]
        counts = Counter(keys)
        ordered = sorted(counts, key=lambda key: -counts[key] if self.reverse else counts[key])
        kept = set(ordered[: size_of(len(ordered), self.top_ratio, self.topk)])
        return np.array([at for at, key in enumerate(keys) if key in kept], dtype=np.int64)
