"""stopwords_filter."""

from pathlib import Path

from jinx_pipeline.operators.batch import Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.filter import Stats
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.text.listed_words import ListedWordsFilter


@register("stopwords_filter", modality="text")
class StopwordsFilter(ListedWordsFilter):
    """Keeps texts whose share of stop words among all words lies in a range.

    A text of sentences has many: function words such as articles and prepositions.
    Words are those of `words_num_filter`; case makes no difference. A text without words has the share 0.

        create("stopwords_filter")([{"text": "this is the one"}, {"text": "red green blue"}])
        # [{"text": "this is the one"}]

    Attributes:
        lang: The language of the list: `en`, `zh`, `es`, `fr`, `de`, `ar`, `hi`, `all` of them, or one of your own
            files.
        tokenization: Split at Unicode's word boundaries instead of white space, for scripts without spaces.
        min_ratio: The least share, from 0 to 1.
        max_ratio: The largest.
        stopwords_dir: A directory with a list in each file `*stopwords*.json` (`{"en": ["word", ...]}`) or
            `stopwords.LANG.txt` (a word a line); without it the built-in lists are used.
        stopwords: The list itself.
        use_words_aug: Also look for successive words, joined: of Chinese, where a word is several ideographs.
        words_aug_group_sizes: How many successive words.
        words_aug_join_char: What joins them.
    """

    min_ratio: float = 0.3
    max_ratio: float = 1.0
    stopwords_dir: Path | None = None
    stopwords: list[str] | None = None

    stats = {"stopwords_ratio": "float64"}
    bounds = {"stopwords_ratio": ("min_ratio", "max_ratio")}

    def check(self) -> None:
        self.words("stopwords", self.stopwords_dir, self.stopwords)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        words = self.words("stopwords", self.stopwords_dir, self.stopwords)
        return {"stopwords_ratio": self.share(words, batch, ctx)}
