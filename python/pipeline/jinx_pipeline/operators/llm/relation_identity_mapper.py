"""Finds the relation of two entities: the operator `relation_identity_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.extract import ExtractingMapper


@register("relation_identity_mapper", modality="text")
class RelationIdentityMapper(ExtractingMapper):
    """Adds the relation of one entity to another in a text to `__dj__meta__`, such as "mother".

        create("relation_identity_mapper", source_entity="Ada", target_entity="Byron", api_model="qwen")

    Attributes:
        source_entity: The one entity.
        target_entity: The other entity.
        output_key: The name in `__dj__meta__` for what the first is to the second; empty if the text does not say.
    """

    source_entity: Annotated[str, NotEmpty()]
    target_entity: Annotated[str, NotEmpty()]
    output_key: str = "role_relation"

    def given(self) -> Mapping[str, str]:
        return {"source": self.source_entity, "target": self.target_entity}

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.output_key: value["relation"]}
