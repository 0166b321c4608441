"""Judges how coherent the steps of an agent are: the operator `agent_trace_coherence_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogJudge


@register("agent_trace_coherence_mapper", modality="text")
class AgentTraceCoherenceMapper(DialogJudge):
    """Judges whether the steps of an agent follow from each other and lead to its goal.

        create("agent_trace_coherence_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    It is under `agent_trace_coherence` in `__dj__meta__`: `score` from 1 to 5, `reason`, `answer`, `parsed`.
    """
