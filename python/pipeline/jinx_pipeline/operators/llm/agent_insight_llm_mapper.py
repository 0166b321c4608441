"""Explains what went well and badly in the trace of an agent: the operator `agent_insight_llm_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.operators.api.metadata import metadata_of
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingModel, as_text
from jinx_pipeline.operators.llm.mapping import FactsMapper


@register("agent_insight_llm_mapper", modality="text")
class AgentInsightLlmMapper(AskingModel, FactsMapper):
    """Adds an insight into a request and its response to `__dj__meta__`, based on what rules have found in the trace.

        create("agent_insight_llm_mapper", api_model="qwen", run_for_tiers=["high_precision"])

    Attributes:
        query_key: The column with the request.
        response_key: The column with the response.
        query_preview_max_chars: How much of the request the model sees.
        response_preview_max_chars: How much of the response the model sees.
        run_for_tiers: Only samples whose tier is one of these (`agent_bad_case_signal_mapper`); None: all.
        insight_key: The name in `__dj__meta__` for the insight.
    """

    query_key: str = "query"
    response_key: str = "response"
    query_preview_max_chars: Annotated[int, Range(1)] = 500
    response_preview_max_chars: Annotated[int, Range(1)] = 500
    run_for_tiers: list[str] | None = None
    insight_key: str = "agent_insight_llm"

    @property
    def keys(self) -> Mapping[str, str]:
        return {"query": self.query_key, "response": self.response_key}

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        known = {name: value for name, value in metadata_of(sample).items() if name != self.insight_key}
        if self.run_for_tiers is not None and known.get("agent_bad_case_tier") not in self.run_for_tiers:
            return None
        return {
            "query": as_text(sample.get(self.query_key))[: self.query_preview_max_chars],
            "response": as_text(sample.get(self.response_key))[: self.response_preview_max_chars],
            "known": as_text(known)[:4000],
        }

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.insight_key: value}
