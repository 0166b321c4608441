"""Filters texts by their quality: the operator `llm_quality_score_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.score import ScoreFilter


@register("llm_quality_score_filter", modality="text")
class LlmQualityScoreFilter(ScoreFilter):
    """Keeps samples that a language model rates as good training data: accurate, correct, informative and coherent.

        create("llm_quality_score_filter", api_or_hf_model="qwen", api_endpoint="http://localhost:8000/v1")

    The statistics are the score, and the record of the judgement with its reason.
    """

    stats = {"llm_quality_score": "float64", "llm_quality_record": "string"}
    bounds = {"llm_quality_score": ("min_score", "max_score")}
