"""flagged_words_filter."""

from pathlib import Path

from jinx_pipeline.operators.batch import Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.filter import Stats
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.text.listed_words import ListedWordsFilter


@register("flagged_words_filter", modality="text")
class FlaggedWordsFilter(ListedWordsFilter):
    """Keeps texts whose share of flagged words among all words lies in a range.

    They are words of pornography and spam; the built-in lists are short, so give your own for real data.
    Words are those of `words_num_filter`; case makes no difference. A text without words has the share 0.

        create("flagged_words_filter", flagged_words=["foo"])([{"text": "foo"}, {"text": "fine"}])  # [{"text": "fine"}]

    Attributes:
        lang: The language of the list: `en`, `zh`, `es`, `fr`, `de`, `ar`, `hi`, `all` of them, or one of your own
            files.
        tokenization: Split at Unicode's word boundaries instead of white space, for scripts without spaces.
        min_ratio: The least share, from 0 to 1.
        max_ratio: The largest.
        flagged_words_dir: A directory with a list in each file `*flagged_words*.json` (`{"en": ["word", ...]}`) or
            `flagged_words.LANG.txt` (a word a line); without it the built-in lists are used.
        flagged_words: The list itself.
        use_words_aug: Also look for successive words, joined: of Chinese, where a word is several ideographs.
        words_aug_group_sizes: How many successive words.
        words_aug_join_char: What joins them.
    """

    min_ratio: float = 0.0
    max_ratio: float = 0.045
    flagged_words_dir: Path | None = None
    flagged_words: list[str] | None = None

    stats = {"flagged_words_ratio": "float64"}
    bounds = {"flagged_words_ratio": ("min_ratio", "max_ratio")}

    def check(self) -> None:
        self.words("flagged_words", self.flagged_words_dir, self.flagged_words)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        words = self.words("flagged_words", self.flagged_words_dir, self.flagged_words)
        return {"flagged_words_ratio": self.share(words, batch, ctx)}
