"""Judges how little the assistant repeats itself: the operator `dialog_non_repetition_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogJudge


@register("dialog_non_repetition_mapper", modality="text")
class DialogNonRepetitionMapper(DialogJudge):
    """Judges whether the assistant adds something new in each turn, and does not repeat itself.

        create("dialog_non_repetition_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    It is under `dialog_non_repetition` in `__dj__meta__`: `score` from 1 to 5, `reason`, `answer`, `parsed`.
    """
