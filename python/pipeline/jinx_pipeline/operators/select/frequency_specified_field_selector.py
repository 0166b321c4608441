"""Selects samples by how frequent a value is: the operator `frequency_specified_field_selector`."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from jinx_pipeline.exchange.chunks import all_positions, chosen
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.equal_values import EqualValues
from jinx_pipeline.operators.api.key_texts import key_texts
from jinx_pipeline.operators.api.keyed import Decision, Keys
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.select.sizes import check_size, size_of


@register("frequency_specified_field_selector")
class FrequencySpecifiedFieldSelector(EqualValues):
    """Keeps the samples with the most frequent values of a field, in the order of the dataset.

    If both `top_ratio` and `topk` are given, the smaller number of distinct values counts. Of equally frequent values,
    those that come first are kept. A missing value counts as a value. 1 and 1.0 are the same value; True and "1" are
    different values.

        create("frequency_specified_field_selector", field_key="k", topk=1)([{"k": 1}, {"k": 2}, {"k": 2}])
        # [{"k": 2}, {"k": 2}]

    Attributes:
        field_key: A column or path; if empty, all samples are kept.
        top_ratio: The share of distinct values to keep, from 0 to 1, rounded down.
        topk: How many distinct values to keep.
        reverse: True keeps the most frequent values, False the least frequent.
    """

    version = 2
    kind = "selector"
    field_key: str = ""
    top_ratio: float | None = None
    topk: int | None = None
    reverse: bool = True

    def check(self) -> None:
        check_size(self.name, self.top_ratio, self.topk, ("top_ratio", "topk"))

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field_key,) if self.field_key else ()

    def value_texts(self, batch: Batch) -> list[str]:
        values = batch.column(self.field_key) if self.field_key else [None] * len(batch)
        return key_texts([values], len(batch))

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        if not self.field_key:
            return Decision(all_positions(len(keys)))
        # All samples with the same value are in the same table.
        counted = [np.unique(table.column("first").to_numpy(), return_counts=True) for table in looks]
        values, counts = (np.concatenate(arrays) for arrays in zip(*counted, strict=True))
        ordered = np.lexsort((values, -counts if self.reverse else counts))
        kept_values = values[ordered[: size_of(len(values), self.top_ratio, self.topk)]]
        is_kept = np.zeros(len(keys), np.bool_)
        for table in looks:
            has_kept = np.isin(table.column("first").to_numpy(), kept_values)
            is_kept[table.column("place").to_numpy()[has_kept]] = True
        return Decision(chosen(is_kept))
