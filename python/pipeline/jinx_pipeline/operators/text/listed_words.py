"""What filters share that count the words of a list."""

from pathlib import Path
from typing import TYPE_CHECKING

from jinx import kernels
from jinx_pipeline.operators.batch import Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.filter import Filter
from jinx_pipeline.operators.ratios import shares
from jinx_pipeline.operators.text.words import word_list

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class ListedWordsFilter(Filter):
    """Measures the share of the words of a list.

    Attributes:
        lang: The language of the list.
        tokenization: Split at Unicode's word boundaries instead of white space.
        use_words_aug: Also look for successive words, joined.
        words_aug_group_sizes: How many successive words.
        words_aug_join_char: What joins them.
    """

    lang: str = "en"
    tokenization: bool = False
    use_words_aug: bool = False
    words_aug_group_sizes: tuple[int, ...] = (2,)
    words_aug_join_char: str = ""

    def words(self, kind: str, folder: Path | None, given: list[str] | None) -> list[str]:
        """The words of the list.

        Args:
            kind: `stopwords` or `flagged_words`.
            folder: With the lists of the user; None: the built-in ones.
            given: The list itself, instead.

        Raises:
            ParameterError: There is no list for the language.
        """
        return word_list(kind, self.lang, folder, self.name) if given is None else given

    def share(self, words: list[str], batch: Batch, ctx: Context) -> "npt.NDArray[np.float64]":
        """The share of these words among the words of each text, at most 1."""
        counts = kernels.count_listed_words(
            batch.text,
            words,
            split="unicode" if self.tokenization else "space",
            groups=self.words_aug_group_sizes if self.use_words_aug else (),
            joiner=self.words_aug_join_char,
            threads=ctx.threads,
        )
        return shares(counts[:, 0], counts[:, 1]).clip(0, 1)
