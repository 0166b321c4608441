"""Labels texts: the operator `text_tagging_by_prompt_mapper`."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from jinx_pipeline.operators.api.parameters import Words
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingHfModel
from jinx_pipeline.operators.llm.mapping import FactsMapper

_TAGS: Final = ["mathematics", "code", "translation", "role play", "open question", "other"]


@register("text_tagging_by_prompt_mapper", modality="text")
class TextTaggingByPromptMapper(AskingHfModel, FactsMapper):
    """Adds one label from a list to `__dj__meta__`.

        create("text_tagging_by_prompt_mapper", hf_model="qwen", tag_list=["news", "fiction", "other"])

    Attributes:
        tag_list: The labels.
        tag_field_name: The name in `__dj__meta__` for the label.
        text_key: The column with the text.
    """

    tag_list: Words = field(default_factory=lambda: list(_TAGS))
    tag_field_name: str = "text_tags"
    text_key: str = "text"

    @property
    def keys(self) -> Mapping[str, str]:
        return {"text": self.text_key}

    def given(self) -> Mapping[str, str]:
        return {"tags": ", ".join(self.tag_list)}

    def fault(self, sample: Mapping[str, Any], value: Any) -> str:
        return "" if value["label"] in self.tag_list else f"{value['label']!r:.60} is not among the labels"

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.tag_field_name: value["label"]}
