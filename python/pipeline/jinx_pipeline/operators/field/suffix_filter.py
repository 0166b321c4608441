"""Filters by the suffix of the source file: the operator `suffix_filter`."""

from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.condition_filter import ConditionFilter
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt

SUFFIX = "__dj__suffix__"


@register("suffix_filter")
class SuffixFilter(ConditionFilter):
    """Keeps samples whose source file had one of the given suffixes, according to the column `__dj__suffix__`.

        create("suffix_filter", suffixes=[".py"])([{"__dj__suffix__": ".py"}, {"__dj__suffix__": ".md"}])
        # [{"__dj__suffix__": ".py"}]

    Attributes:
        suffixes: The suffixes with their dots; none keeps all samples.
    """

    suffixes: str | list[str] = ""

    @property
    def reads(self) -> tuple[str, ...]:
        return (SUFFIX,)

    def holds(self, batch: Batch) -> "npt.NDArray[np.bool_]":
        suffixes = [self.suffixes] if isinstance(self.suffixes, str) else self.suffixes
        if not any(suffixes):
            return np.ones(len(batch), dtype=np.bool_)
        return np.array([value in suffixes for value in batch.column(SUFFIX)], dtype=np.bool_)
