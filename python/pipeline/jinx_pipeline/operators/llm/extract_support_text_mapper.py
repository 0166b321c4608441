"""Finds the passage that supports a summary: the operator `extract_support_text_mapper`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.metadata import metadata_of
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import as_text
from jinx_pipeline.operators.llm.extract import ExtractingMapper


@register("extract_support_text_mapper", modality="text")
class ExtractSupportTextMapper(ExtractingMapper):
    """Adds the passage of a text that supports a summary in `__dj__meta__`; only passages found in the text count.

        create("extract_support_text_mapper", api_model="qwen", summary_key="event_description")

    Attributes:
        summary_key: The name of the summary in `__dj__meta__`.
        support_text_key: The name in `__dj__meta__` for the passage.
    """

    summary_key: str = "event_description"
    support_text_key: str = "support_text"

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        summary = as_text(metadata_of(sample).get(self.summary_key))
        data = super().data(sample)
        return {**data, "summary": summary} if data is not None and summary else None

    def fault(self, sample: Mapping[str, Any], value: Any) -> str:
        text = " ".join(as_text(sample.get(self.text_key)).split())
        return "" if " ".join(value["passage"].split()) in text else "the passage is not in the text word for word"

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.support_text_key: value["passage"]}
