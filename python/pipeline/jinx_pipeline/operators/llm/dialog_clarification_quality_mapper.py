"""Judges how well the assistant clarifies unclear requests: the operator `dialog_clarification_quality_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogJudge


@register("dialog_clarification_quality_mapper", modality="text")
class DialogClarificationQualityMapper(DialogJudge):
    """Judges whether the assistant asks back when a request is unclear, and does not ask without need.

        create("dialog_clarification_quality_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    It is under `dialog_clarification_quality` in `__dj__meta__`: `score` from 1 to 5, `reason`, `answer`, `parsed`.
    """
