"""Filters texts by a condition in words: the operator `llm_condition_filter`."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import Answer
from jinx_pipeline.operators.llm.score import JudgedFilter


@register("llm_condition_filter", modality="text")
class LlmConditionFilter(JudgedFilter):
    """Keeps samples for which a language model says that a condition holds.

        create("llm_condition_filter", condition="The text explains how something works.", api_or_hf_model="qwen")

    Attributes:
        condition: The condition, in words.
    """

    condition: Annotated[str, NotEmpty()]

    stats = {"llm_condition": "bool", "llm_condition_record": "string"}

    def given(self) -> Mapping[str, str]:
        return {"condition": self.condition}

    def judged(self, answer: Answer) -> bool:
        return answer.value["holds"]

    def keep(self, stats: Mapping[str, pa.Array]) -> Any:
        return np.array([value is True for value in stats["llm_condition"].to_pylist()], np.bool_)
