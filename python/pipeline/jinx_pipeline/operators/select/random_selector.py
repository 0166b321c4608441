"""Random selection: the operator `random_selector`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Selector
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.select.sizes import check_size, size_of

if TYPE_CHECKING:
    import numpy.typing as npt


@register("random_selector")
class RandomSelector(Selector):
    """Keeps random samples, in the order of the dataset; they depend on the run's seed.

    If both `select_ratio` and `select_num` are given, the smaller number counts.

        create("random_selector", select_num=1)([{"text": "a"}, {"text": "a"}])  # [{"text": "a"}]

    Attributes:
        select_ratio: The share of samples to keep, from 0 to 1, rounded down.
        select_num: How many samples to keep.
    """

    select_ratio: float | None = None
    select_num: int | None = None

    def check(self) -> None:
        check_size(self.name, self.select_ratio, self.select_num, ("select_ratio", "select_num"))

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "npt.NDArray[np.int64]":
        size = size_of(count, self.select_ratio, self.select_num)
        chosen = ctx.rng("", self.name).choice(count, size, replace=False)
        return np.sort(chosen).astype(np.int64)
