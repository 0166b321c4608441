"""Filters by the number of words: the operator `words_num_filter`."""

import sys

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.registry import register


@register("words_num_filter", modality="text")
class WordsNumFilter(Filter):
    """Keeps texts whose number of words lies in a range.

    A word is text between white space with at least one letter, without the characters at its ends that are no letters:
    numbers and punctuation alone are not words, and the word in `(item7)` is `item`.

        create("words_num_filter", min_num=2)([{"text": "two words"}, {"text": "1 word"}])  # [{"text": "two words"}]

    Attributes:
        lang: The language; not used.
        tokenization: Split at Unicode's word boundaries instead, for scripts without spaces: an ideograph is a word.
        min_num: The smallest number.
        max_num: The largest number.
    """

    lang: str = "en"
    tokenization: bool = False
    min_num: int = 10
    max_num: int = sys.maxsize

    stats = {"num_words": "int64"}
    bounds = {"num_words": ("min_num", "max_num")}

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        split = "unicode" if self.tokenization else "space"
        return {"num_words": kernels.count_words(batch.text, split=split, threads=ctx.threads)}
