"""Splits groups into samples: the operator `naive_reverse_grouper`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("naive_reverse_grouper")
class NaiveReverseGrouper(Splitter):
    """Makes a sample from each element of lists that a grouper made; all columns are lists of the same length.

    A sample with empty lists gives no samples.

        create("naive_reverse_grouper")([{"n": [1, 2]}])  # [{"n": 1}, {"n": 2}]
    """

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], Mapping[str, Any]]":
        samples = [dict(sample) for sample in batch.samples()]
        counts = [self._count(row, sample) for row, sample in enumerate(samples)]
        made: dict[str, list[Any]] = {name: [] for name in batch.column_names}
        for sample, count in zip(samples, counts, strict=True):
            for name, values in made.items():
                # The result must not depend on the columns of other samples, which depend on the batch.
                values.extend((sample[name] or [None] * count) if name in sample else [REMOVED] * count)
        return np.repeat(np.arange(len(batch)), counts), made

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
