"""Judges how helpful unrequested contributions are: the operator `dialog_proactivity_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogJudge


@register("dialog_proactivity_mapper", modality="text")
class DialogProactivityMapper(DialogJudge):
    """Judges whether the assistant offers useful next steps and warnings, without pushing.

        create("dialog_proactivity_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    It is under `dialog_proactivity` in `__dj__meta__`: `score` from 1 to 5, `reason`, `answer`, `parsed`.
    """
