"""Summarizes the texts of a group: the operator `nested_aggregator`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.tree import BATCH_META, TreeAggregator


@register("nested_aggregator", modality="text")
class NestedAggregator(TreeAggregator):
    """Summarizes the texts of a group in one text; many texts are summarized as a tree.

        create("nested_aggregator", api_model="qwen", input_key="text", output_key="summary", max_token_num=4000)

    Attributes:
        output_key: The name in `__dj__batch_meta__` for the summary; None: as the input.
    """

    output_key: str | None = None

    def aggregate(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        texts = [str(value) for value in self.values(batch)]
        return {BATCH_META: {self.output_key or self.input_key: self.summary(texts, ctx) if texts else ""}}
