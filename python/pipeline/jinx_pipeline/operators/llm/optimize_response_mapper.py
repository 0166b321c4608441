"""Rewrites an answer: the operator `optimize_response_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.question_answer import OptimizingMapper


@register("optimize_response_mapper", modality="text")
class OptimizeResponseMapper(OptimizingMapper):
    """Rewrites an answer, so that it is clearer and more complete.

        create("optimize_response_mapper", api_or_hf_model="qwen", api_endpoint="http://localhost:8000/v1")

    A sample whose answer was not understood stays as it is.
    """

    written = ("response",)
