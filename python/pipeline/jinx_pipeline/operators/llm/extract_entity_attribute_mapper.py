"""Finds attributes of entities: the operator `extract_entity_attribute_mapper`."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.extract import ExtractingMapper


@register("extract_entity_attribute_mapper", modality="text")
class ExtractEntityAttributeMapper(ExtractingMapper):
    """Adds attributes of entities in a text to `__dj__meta__`, with the passages that support them.

        create("extract_entity_attribute_mapper", api_model="qwen", query_entities=["Ada"], query_attributes=["work"])

    The lists in `__dj__meta__` have an element for each finding.

    Attributes:
        query_entities: The entities; empty: the main ones.
        query_attributes: The attributes; empty: the most important ones.
        require_support_demos: Whether findings without a passage are left out.
        entity_key: The name in `__dj__meta__` for the entities.
        attribute_key: The name in `__dj__meta__` for the attributes.
        attribute_desc_key: The name in `__dj__meta__` for their descriptions.
        support_text_key: The name in `__dj__meta__` for the lists of passages.
    """

    query_entities: list[str] = field(default_factory=list[str])
    query_attributes: list[str] = field(default_factory=list[str])
    require_support_demos: bool = True
    entity_key: str = "main_entities"
    attribute_key: str = "attributes"
    attribute_desc_key: str = "attribute_descriptions"
    support_text_key: str = "attribute_support_texts"

    def given(self) -> Mapping[str, str]:
        return {
            "entities": ", ".join(self.query_entities) or "the main entities",
            "attributes": ", ".join(self.query_attributes) or "the most important attributes",
        }

    def facts(self, value: Any) -> Mapping[str, Any]:
        found = [item for item in value["findings"] if item["passages"] or not self.require_support_demos]
        return {
            self.entity_key: [item["entity"] for item in found],
            self.attribute_key: [item["attribute"] for item in found],
            self.attribute_desc_key: [item["description"] for item in found],
            self.support_text_key: [item["passages"] for item in found],
        }
