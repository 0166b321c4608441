"""Draws a conclusion about an entity from the texts of a group: the operator `entity_attribute_aggregator`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.tree import BATCH_META, TreeAggregator


@register("entity_attribute_aggregator", modality="text")
class EntityAttributeAggregator(TreeAggregator):
    """Summarizes what the texts of a group say about an attribute of an entity; many texts are read as a tree.

        create("entity_attribute_aggregator", entity="Ada", attribute="work", input_key="text", api_model="qwen")

    Attributes:
        entity: The entity.
        attribute: The attribute.
        word_limit: The maximum number of words of the conclusion.
        output_key: The name in `__dj__batch_meta__` for the conclusion.
    """

    entity: Annotated[str, NotEmpty()]
    attribute: Annotated[str, NotEmpty()]
    word_limit: Annotated[int, Range(1)] = 100
    output_key: str = "entity_attribute"

    def given(self) -> Mapping[str, str]:
        return {"entity": self.entity, "attribute": self.attribute, "words": str(self.word_limit)}

    def aggregate(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        texts = [str(value) for value in self.values(batch)]
        return {BATCH_META: {self.output_key: self.summary(texts, ctx) if texts else ""}}
