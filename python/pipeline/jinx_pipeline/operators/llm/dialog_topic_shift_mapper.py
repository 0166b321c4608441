"""Judges how well changes of topic are handled: the operator `dialog_topic_shift_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogJudge


@register("dialog_topic_shift_mapper", modality="text")
class DialogTopicShiftMapper(DialogJudge):
    """Judges whether the assistant follows a change of topic, and returns to open matters.

        create("dialog_topic_shift_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    It is under `dialog_topic_shift` in `__dj__meta__`: `score` from 1 to 5, `reason`, `answer`, `parsed`.
    """
