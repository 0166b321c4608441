"""Filters by repeated character n-grams: the operator `character_repetition_filter`."""

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.parameters import NGrams, Share, ShareLimit
from jinx_pipeline.operators.api.registry import register


@register("character_repetition_filter", modality="text")
class CharacterRepetitionFilter(Filter):
    """Keeps texts whose share of repeated n-grams of characters lies in a range.

    The measure is the share of the most frequent n-grams among all n-grams. If k different n-grams occur, and m of them
    more than once, the min(sqrt(k), m) most frequent ones count. The ROOTS corpus uses this measure (arXiv:2303.03915).

        create("character_repetition_filter", rep_len=3)([{"text": "=" * 40}, {"text": "a plain sentence"}])
        # [{"text": "a plain sentence"}]

    Attributes:
        rep_len: Characters of an n-gram.
        min_ratio: The smallest share, from 0 to 1.
        max_ratio: The largest share.
    """

    rep_len: NGrams = 10
    min_ratio: Share = 0.0
    max_ratio: ShareLimit = 0.5

    stats = {"char_rep_ratio": "float64"}
    bounds = {"char_rep_ratio": ("min_ratio", "max_ratio")}

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        return {"char_rep_ratio": kernels.character_repetition(batch.text, self.rep_len, threads=ctx.threads)}
