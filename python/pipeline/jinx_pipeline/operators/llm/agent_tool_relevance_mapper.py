"""Judges how well an agent chooses its tool calls: the operator `agent_tool_relevance_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogJudge


@register("agent_tool_relevance_mapper", modality="text")
class AgentToolRelevanceMapper(DialogJudge):
    """Judges whether an agent calls the tools that its task needs, with suitable arguments, and no others.

        create("agent_tool_relevance_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    It is under `agent_tool_relevance` in `__dj__meta__`: `score` from 1 to 5, `reason`, `answer`, `parsed`.
    """
