"""Corrects an answer by a reference text: the operator `calibrate_response_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.question_answer import CalibratingMapper


@register("calibrate_response_mapper", modality="text")
class CalibrateResponseMapper(CalibratingMapper):
    """Corrects an answer according to a reference text.

        create("calibrate_response_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    A sample whose answer was not understood stays as it is.
    """

    written = ("response",)
