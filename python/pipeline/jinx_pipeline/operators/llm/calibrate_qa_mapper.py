"""Corrects a question and its answer by a reference text: the operator `calibrate_qa_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.question_answer import CalibratingMapper


@register("calibrate_qa_mapper", modality="text")
class CalibrateQaMapper(CalibratingMapper):
    """Corrects a question and its answer according to a reference text.

        create("calibrate_qa_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    A sample whose answer was not understood stays as it is.
    """

    written = ("query", "response")
