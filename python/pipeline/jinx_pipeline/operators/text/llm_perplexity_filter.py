"""Filters by the perplexity of a causal language model: the operator `llm_perplexity_filter`."""

from math import exp

from jinx_pipeline.models.causal_lm import losses
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.language_model_scores import LanguageModelFilter


@register("llm_perplexity_filter", modality="text")
class LlmPerplexityFilter(LanguageModelFilter):
    """Keeps texts whose perplexity under a causal language model lies in a range.

    A text of one token has no perplexity, and is dropped.

        create("llm_perplexity_filter", hf_model="/models/qwen", max_score=50)

    Needs transformers and torch (the extra `model`).

    Attributes:
        min_score: The smallest perplexity.
        max_score: The largest perplexity.
    """

    min_score: float = 1.0
    max_score: float = 100.0

    stats = {"llm_perplexity": "float64"}
    bounds = {"llm_perplexity": ("min_score", "max_score")}

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        found = losses(self.hf_model, self.scored(batch), ctx, max_length=self.max_length)
        return {"llm_perplexity": [None if loss is None else exp(loss) for loss in found]}
