"""Rewrites texts: the operator `sentence_augmentation_mapper`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingHfModel
from jinx_pipeline.operators.llm.mapping import RewritingMapper


@register("sentence_augmentation_mapper", modality="text")
class SentenceAugmentationMapper(AskingHfModel, RewritingMapper):
    """Replaces a text by one with the same meaning in other words.

        create("sentence_augmentation_mapper", hf_model="qwen", api_endpoint="http://localhost:8000/v1")

    Attributes:
        task_sentence: How to rewrite the text; None: with the same meaning, in other words.
        text_key: The column with the text.
        text_key_second: A column for the new text; None to replace the text.
    """

    task_sentence: str | None = None
    text_key: str = "text"
    text_key_second: str | None = None

    @property
    def keys(self) -> Mapping[str, str]:
        return {"text": self.text_key}

    def given(self) -> Mapping[str, str]:
        return {"task": self.task_sentence or "Write it in other words. Keep its meaning, language and length."}

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.text_key_second or self.text_key, META)

    def columns(self, value: Any) -> Mapping[str, Any]:
        return {self.writes[0]: value}
