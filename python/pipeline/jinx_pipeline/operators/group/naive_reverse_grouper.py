"""naive_reverse_grouper."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.sample.paths import text_of

if TYPE_CHECKING:
    import numpy.typing as npt


@register("naive_reverse_grouper")
class NaiveReverseGrouper(Splitter):
    """Makes a sample from each element of the lists that a grouper made; all columns are lists of the same length.

    A sample with empty lists gives no samples.

        create("naive_reverse_grouper")([{"n": [1, 2]}])  # [{"n": 1}, {"n": 2}]
    """

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], Mapping[str, Any]]":
        names = batch.column_names
        columns = {name: batch.column(text_of((name,))) for name in names}
        counts = [
            self._count(row, {name: values[row] for name, values in columns.items()}) for row in range(len(batch))
        ]
        elements = {
            name: [element for count, value in zip(counts, values, strict=True) for element in value or [None] * count]
            for name, values in columns.items()
        }
        return np.repeat(np.arange(len(batch)), counts), elements

    def _count(self, row: int, sample: Mapping[str, Any]) -> int:
        lengths: dict[int, str] = {}
        for name, value in sample.items():
            if value is None:
                continue
            if not isinstance(value, list):
                raise TypeError(f"{self.name}: {name!r} of sample {row} of the batch is not a list")
            lengths.setdefault(len(value), name)
        if len(lengths) > 1:
            raise ValueError(f"{self.name}: the lists of sample {row} of the batch have different lengths: {lengths}")
        return next(iter(lengths), 0)
