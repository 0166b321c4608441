"""Rewrites a question and its answer: the operator `optimize_qa_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.question_answer import OptimizingMapper


@register("optimize_qa_mapper", modality="text")
class OptimizeQaMapper(OptimizingMapper):
    """Rewrites a question and its answer, so that both are clearer and more complete.

        create("optimize_qa_mapper", api_or_hf_model="qwen", api_endpoint="http://localhost:8000/v1")

    A sample whose answer was not understood stays as it is.
    """

    written = ("query", "response")
