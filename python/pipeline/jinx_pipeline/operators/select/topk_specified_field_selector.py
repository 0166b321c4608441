"""Selects the samples with the largest values: the operator `topk_specified_field_selector`."""

from collections.abc import Sequence

import pyarrow as pa

from jinx_pipeline.operators.api.keyed import Decision, Keys
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.order.ranked import Ranked
from jinx_pipeline.operators.select.sizes import check_size, size_of


@register("topk_specified_field_selector")
class TopkSpecifiedFieldSelector(Ranked):
    """Keeps the samples with the largest values of a field, in the order of the dataset.

    If both `top_ratio` and `topk` are given, the smaller number counts. Of equal values, the first are kept; samples
    without a value are kept only if there are too few others. Values are numbers or strings; a sample whose value is
    neither is left out and reported.

        create("topk_specified_field_selector", field_key="score", topk=1)([{"score": 1}, {"score": 3}])
        # [{"score": 3}]

    Attributes:
        field_key: A column or path, e.g. `__dj__stats__.text_len`.
        top_ratio: The share of samples to keep, from 0 to 1, rounded down.
        topk: How many samples to keep.
        reverse: True keeps the largest values, False the smallest.
    """

    kind = "selector"
    field_key: str
    top_ratio: float | None = None
    topk: int | None = None
    reverse: bool = True

    def check(self) -> None:
        if not self.field_key:
            raise ParameterError(self.name, "field_key", "field_key is empty; name a column or a path")
        check_size(self.name, self.top_ratio, self.topk, ("top_ratio", "topk"))

    @property
    def sort_keys(self) -> list[tuple[str, bool, bool]]:
        return [(self.field_key, False, self.reverse)]

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        return self.of_ranks(keys, looks, 0, size_of(len(keys), self.top_ratio, self.topk))
