"""Filters texts by an overall analysis: the operator `llm_analysis_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.score import ScoreFilter


@register("llm_analysis_filter", modality="text")
class LlmAnalysisFilter(ScoreFilter):
    """Keeps samples that a language model rates as clear, relevant, useful and fluent; it also finds topic and style.

        create("llm_analysis_filter", api_or_hf_model="qwen", api_endpoint="http://localhost:8000/v1", min_score=0.6)

    The statistics are the score, and the record of the judgement with tags, flags and the reason.
    """

    stats = {"llm_analysis_score": "float64", "llm_analysis_record": "string"}
    bounds = {"llm_analysis_score": ("min_score", "max_score")}
