"""Judges how well earlier facts are remembered: the operator `dialog_memory_consistency_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogJudge


@register("dialog_memory_consistency_mapper", modality="text")
class DialogMemoryConsistencyMapper(DialogJudge):
    """Judges whether the assistant remembers what was said earlier, and does not contradict it.

        create("dialog_memory_consistency_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    It is under `dialog_memory_consistency` in `__dj__meta__`: `score` from 1 to 5, `reason`, `answer`, `parsed`.
    """
