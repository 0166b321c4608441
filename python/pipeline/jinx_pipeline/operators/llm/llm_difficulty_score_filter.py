"""Filters texts by how hard they are for a model: the operator `llm_difficulty_score_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.score import ScoreFilter


@register("llm_difficulty_score_filter", modality="text")
class LlmDifficultyScoreFilter(ScoreFilter):
    """Keeps samples that a language model rates as hard, according to language, depth, knowledge, steps and ambiguity.

        create("llm_difficulty_score_filter", api_or_hf_model="qwen", api_endpoint="http://localhost:8000/v1")

    The statistics are the score, and the record of the judgement with its reason.
    """

    stats = {"llm_difficulty_score": "float64", "llm_difficulty_record": "string"}
    bounds = {"llm_difficulty_score": ("min_score", "max_score")}
