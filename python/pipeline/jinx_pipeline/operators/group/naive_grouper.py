"""Makes one group of all samples: the operator `naive_grouper`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.operator_kinds import Grouper
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("naive_grouper")
class NaiveGrouper(Grouper):
    """Puts all samples into one group.

    A following aggregator makes one sample from the whole dataset.

        create("naive_grouper")([{"n": 1}, {"n": 2}])  # [{"n": [1, 2]}]
    """

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def group(self, columns: Mapping[str, Sequence[Any]], count: int) -> "list[npt.NDArray[np.int64]]":
        return [np.arange(count, dtype=np.int64)] if count else []
