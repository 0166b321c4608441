"""Finds who calls whom by which nickname: the operator `extract_nickname_mapper`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.extract import ExtractingMapper


@register("extract_nickname_mapper", modality="text")
class ExtractNicknameMapper(ExtractingMapper):
    """Adds the nicknames in a text to `__dj__meta__`: who calls whom what.

        create("extract_nickname_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    Attributes:
        nickname_key: The name in `__dj__meta__` for the list of dicts with `source_entity`, `target_entity` and
            `nickname`.
    """

    nickname_key: str = "nickname"

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.nickname_key: value["nicknames"]}
