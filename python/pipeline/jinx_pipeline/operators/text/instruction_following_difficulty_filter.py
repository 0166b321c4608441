"""Filters by how much a query helps a response: the operator `instruction_following_difficulty_filter`."""

from jinx_pipeline.models.causal_lm import Scored, losses
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.language_model_scores import LanguageModelFilter


@register("instruction_following_difficulty_filter", modality="text")
class InstructionFollowingDifficultyFilter(LanguageModelFilter):
    """Keeps samples whose difficulty lies in a range: the loss of the response after the query, by its loss alone.

    Below 1, the query helps a language model to predict the response.

        create("instruction_following_difficulty_filter", hf_model="/models/qwen", query_template="{query}",
               response_template="{response}", min_score=0.3, max_score=1.0)

    Needs transformers and torch (the extra `model`).

    Attributes:
        min_score: The smallest difficulty.
        max_score: The largest difficulty.
    """

    min_score: float = 1.0
    max_score: float = 100.0

    stats = {"ifd_score": "float64"}
    bounds = {"ifd_score": ("min_score", "max_score")}

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        scored = self.scored(batch)
        alone = [Scored("", sample.text) for sample in scored]
        found = losses(self.hf_model, [*scored, *alone], ctx, max_length=self.max_length)
        pairs = zip(found[: len(batch)], found[len(batch) :], strict=True)
        return {"ifd_score": [after / before if after is not None and before else None for after, before in pairs]}
