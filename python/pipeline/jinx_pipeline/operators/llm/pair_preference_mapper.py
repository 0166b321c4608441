"""Adds a worse answer to a question and its answer: the operator `pair_preference_mapper`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingModel
from jinx_pipeline.operators.llm.mapping import RewritingMapper


@register("pair_preference_mapper", modality="text")
class PairPreferenceMapper(AskingModel, RewritingMapper):
    """Adds a plausible but worse answer to a question, and the reason why it is worse, for preference training.

        create("pair_preference_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    Attributes:
        query_key: The column with the question.
        response_key: The column with the preferred answer.
        rejected_key: The column for the worse answer.
        reason_key: The column for what is worse about it.
    """

    query_key: str = "query"
    response_key: str = "response"
    rejected_key: str = "rejected_response"
    reason_key: str = "reason"

    @property
    def keys(self) -> Mapping[str, str]:
        return {"query": self.query_key, "response": self.response_key}

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.rejected_key, self.reason_key, META)

    def fault(self, sample: Mapping[str, Any], value: Any) -> str:
        is_same = str(sample.get(self.response_key)).strip() == value["rejected"].strip()
        return "the rejected answer is the preferred one" if is_same else ""

    def columns(self, value: Any) -> Mapping[str, Any]:
        return {self.rejected_key: value["rejected"], self.reason_key: value["reason"]}
