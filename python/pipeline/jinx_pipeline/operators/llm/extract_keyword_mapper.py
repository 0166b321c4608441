"""Finds the keywords of texts: the operator `extract_keyword_mapper`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.extract import ExtractingMapper


@register("extract_keyword_mapper", modality="text")
class ExtractKeywordMapper(ExtractingMapper):
    """Adds the keywords that summarize a text to `__dj__meta__`.

        create("extract_keyword_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    Attributes:
        keyword_key: The name in `__dj__meta__` for the list of keywords.
    """

    keyword_key: str = "keyword"

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.keyword_key: value["keywords"]}
