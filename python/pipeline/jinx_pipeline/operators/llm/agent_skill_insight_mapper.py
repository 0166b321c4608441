"""Names the skills that an agent shows: the operator `agent_skill_insight_mapper`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingModel
from jinx_pipeline.operators.llm.dialog import AskingAboutDialogs
from jinx_pipeline.operators.llm.mapping import FactsMapper


@register("agent_skill_insight_mapper", modality="text")
class AgentSkillInsightMapper(AskingModel, AskingAboutDialogs, FactsMapper):
    """Adds the skills that an agent needs and shows in a trace to `__dj__meta__`, as short labels.

        create("agent_skill_insight_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    Attributes:
        insight_key: The name in `__dj__meta__` for the list of labels.
    """

    insight_key: str = "agent_skill_insights"

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.insight_key: value["skills"]}
