"""Rewrites a question: the operator `optimize_query_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.question_answer import OptimizingMapper


@register("optimize_query_mapper", modality="text")
class OptimizeQueryMapper(OptimizingMapper):
    """Rewrites a question, so that it is clearer and more specific.

        create("optimize_query_mapper", api_or_hf_model="qwen", api_endpoint="http://localhost:8000/v1")

    A sample whose answer was not understood stays as it is.
    """

    written = ("query",)
    optional = ("response",)
