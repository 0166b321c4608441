"""Filters by the share of special characters: the operator `special_characters_filter`."""

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.parameters import Share, ShareLimit
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.ratios import shares


@register("special_characters_filter", modality="text")
class SpecialCharactersFilter(Filter):
    """Keeps texts whose share of special characters lies in a range.

    Special characters are punctuation, symbols, emoji, digits, white space (including zero-width), and control
    characters of any script. Letters are not special, nor are the marks with which many scripts write vowels.

        create("special_characters_filter")([{"text": "plain words"}, {"text": "a ~~ 1 ** 2"}])
        # [{"text": "plain words"}]

    Attributes:
        min_ratio: The smallest share, from 0 to 1.
        max_ratio: The largest share.
    """

    min_ratio: Share = 0.0
    max_ratio: ShareLimit = 0.25

    stats = {"special_char_ratio": "float64"}
    bounds = {"special_char_ratio": ("min_ratio", "max_ratio")}

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        special = kernels.count_characters(batch.text, "special", threads=ctx.threads)
        return {"special_char_ratio": shares(special, kernels.code_points(batch.text, threads=ctx.threads))}
