"""Filters by repeated word n-grams: the operator `word_repetition_filter`."""

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.parameters import NGrams, Share, ShareLimit
from jinx_pipeline.operators.api.registry import register


@register("word_repetition_filter", modality="text")
class WordRepetitionFilter(Filter):
    """Keeps texts whose share of repeated n-grams of words lies in a range.

    The measure is the share of n-grams that occur more than once. Words are those of `words_num_filter`, in lower case.
    The ROOTS corpus uses this measure (arXiv:2303.03915).

        create("word_repetition_filter", rep_len=2)([{"text": "buy now " * 9}, {"text": "three plain words"}])
        # [{"text": "three plain words"}]

    Attributes:
        lang: The language; not used.
        tokenization: Split at Unicode's word boundaries instead of white space, for scripts without spaces.
        rep_len: Words of an n-gram.
        min_ratio: The smallest share, from 0 to 1.
        max_ratio: The largest share.
    """

    lang: str = "en"
    tokenization: bool = False
    rep_len: NGrams = 10
    min_ratio: Share = 0.0
    max_ratio: ShareLimit = 0.5

    stats = {"word_rep_ratio": "float64"}
    bounds = {"word_rep_ratio": ("min_ratio", "max_ratio")}

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        split = "unicode" if self.tokenization else "space"
        return {"word_rep_ratio": kernels.word_repetition(batch.text, self.rep_len, split=split, threads=ctx.threads)}
