"""Filters by the share of stop words: the operator `stopwords_filter`."""

from pathlib import Path

from jinx_pipeline.operators.api.parameters import Share, ShareLimit, Words
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.listed_words import ListedWordsFilter


@register("stopwords_filter", modality="text")
class StopwordsFilter(ListedWordsFilter):
    """Keeps texts whose share of stop words among all words lies in a range.

    Stop words are function words such as articles and prepositions; texts with whole sentences have many of them. Words
    are those of `words_num_filter`; case is ignored. A text without words has the share 0.

        create("stopwords_filter")([{"text": "this is the one"}, {"text": "red green blue"}])
        # [{"text": "this is the one"}]

    Attributes:
        stopwords_dir: A directory with a list in each file `*stopwords*.json` (`{"en": ["word", ...]}`) or
            `stopwords.LANG.txt` (a word a line); without it the built-in lists are used.
        stopwords: The words themselves, instead of a directory.
    """

    min_ratio: Share = 0.3
    max_ratio: ShareLimit = 1.0
    stopwords_dir: Path | None = None
    stopwords: Words | None = None

    stats = {"stopwords_ratio": "float64"}
    bounds = {"stopwords_ratio": ("min_ratio", "max_ratio")}

    def source(self) -> tuple[str, Path | None, list[str] | None]:
        return "stopwords", self.stopwords_dir, self.stopwords
