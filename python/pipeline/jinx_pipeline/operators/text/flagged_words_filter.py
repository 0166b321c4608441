"""Filters by the share of flagged words: the operator `flagged_words_filter`."""

from pathlib import Path

from jinx_pipeline.operators.api.parameters import Share, ShareLimit, Words
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.listed_words import ListedWordsFilter


@register("flagged_words_filter", modality="text")
class FlaggedWordsFilter(ListedWordsFilter):
    """Keeps texts whose share of flagged words among all words lies in a range.

    Flagged words are those of pornography and spam. The built-in lists are short, so use your own for real data.
    Words are those of `words_num_filter`; case is ignored. A text without words has the share 0.

        create("flagged_words_filter", flagged_words=["foo"])([{"text": "foo"}, {"text": "fine"}])  # [{"text": "fine"}]

    Attributes:
        flagged_words_dir: A directory with a list in each file `*flagged_words*.json` (`{"en": ["word", ...]}`) or
            `flagged_words.LANG.txt` (a word a line); without it the built-in lists are used.
        flagged_words: The words themselves, instead of a directory.
    """

    min_ratio: Share = 0.0
    max_ratio: ShareLimit = 0.045
    flagged_words_dir: Path | None = None
    flagged_words: Words | None = None

    stats = {"flagged_words_ratio": "float64"}
    bounds = {"flagged_words_ratio": ("min_ratio", "max_ratio")}

    def source(self) -> tuple[str, Path | None, list[str] | None]:
        return "flagged_words", self.flagged_words_dir, self.flagged_words
