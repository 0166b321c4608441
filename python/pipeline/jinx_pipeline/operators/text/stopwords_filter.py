"""stopwords_filter."""

from pathlib import Path

from jinx import kernels
from jinx_pipeline.operators.batch import Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.filter import Filter, Stats
from jinx_pipeline.operators.ratios import shares
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.text.words import word_list


@register("stopwords_filter", modality="text")
class StopwordsFilter(Filter):
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
        stopwords_dir: A folder with a list in each file `*stopwords*.json` (`{"en": ["word", ...]}`) or
            `stopwords.LANG.txt` (a word a line); without it the built-in lists are used.
        stopwords: The list itself.
        use_words_aug: Also look for successive words, joined: of Chinese, where a word is several ideographs.
        words_aug_group_sizes: How many successive words.
        words_aug_join_char: What joins them.
    """

    lang: str = "en"
    tokenization: bool = False
    min_ratio: float = 0.3
    max_ratio: float = 1.0
    stopwords_dir: Path | None = None
    stopwords: list[str] | None = None
    use_words_aug: bool = False
    words_aug_group_sizes: tuple[int, ...] = (2,)
    words_aug_join_char: str = ""

    stats = {"stopwords_ratio": "float64"}
    bounds = {"stopwords_ratio": ("min_ratio", "max_ratio")}

    def check(self) -> None:
        if self.stopwords is None:
            word_list("stopwords", self.lang, self.stopwords_dir, self.name)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        words = self.stopwords
        counts = kernels.count_listed_words(
            batch.text,
            word_list("stopwords", self.lang, self.stopwords_dir, self.name) if words is None else words,
            split="unicode" if self.tokenization else "space",
            groups=self.words_aug_group_sizes if self.use_words_aug else (),
            joiner=self.words_aug_join_char,
            threads=ctx.threads,
        )
        return {"stopwords_ratio": shares(counts[:, 0], counts[:, 1]).clip(0, 1)}
