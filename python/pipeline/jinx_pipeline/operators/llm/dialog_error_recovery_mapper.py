"""Judges how well errors are corrected: the operator `dialog_error_recovery_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogJudge


@register("dialog_error_recovery_mapper", modality="text")
class DialogErrorRecoveryMapper(DialogJudge):
    """Judges whether the assistant corrects its errors, and accepts corrections from the user.

        create("dialog_error_recovery_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    It is under `dialog_error_recovery` in `__dj__meta__`: `score` from 1 to 5, `reason`, `answer`, `parsed`.
    """
