"""Ranks the entities that matter most to another: the operator `most_relevant_entities_aggregator`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import as_text
from jinx_pipeline.operators.llm.tree import BATCH_META, TreeAggregator


@register("most_relevant_entities_aggregator", modality="text")
class MostRelevantEntitiesAggregator(TreeAggregator):
    """Ranks the entities of a type that matter most to an entity in the texts of a group.

        create("most_relevant_entities_aggregator", entity="Ada", query_entity_type="person", api_model="qwen")

    Attributes:
        entity: The entity.
        query_entity_type: The type of the entities to rank.
        output_key: The name in `__dj__batch_meta__` for their names, the most relevant first.
    """

    entity: Annotated[str, NotEmpty()]
    query_entity_type: Annotated[str, NotEmpty()]
    output_key: str = "most_relevant_entities"

    def given(self) -> Mapping[str, str]:
        return {"entity": self.entity, "type": self.query_entity_type}

    def shown(self, value: Any) -> str:
        return as_text(value["entities"])

    def aggregate(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        texts = [str(value) for value in self.values(batch)]
        entities = self.summary(texts, ctx)["entities"] if texts else []
        return {BATCH_META: {self.output_key: [entity["name"] for entity in entities]}}
