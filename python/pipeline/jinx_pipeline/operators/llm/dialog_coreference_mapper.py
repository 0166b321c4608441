"""Judges how well references between turns are resolved: the operator `dialog_coreference_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogJudge


@register("dialog_coreference_mapper", modality="text")
class DialogCoreferenceMapper(DialogJudge):
    """Judges whether the assistant understands what words such as "it" and "the second one" refer to.

        create("dialog_coreference_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    It is under `dialog_coreference` in `__dj__meta__`: `score` from 1 to 5, `reason`, `answer`, `parsed`.
    """
