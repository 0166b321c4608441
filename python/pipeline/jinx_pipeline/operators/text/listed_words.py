"""The base class of filters by lists of words."""

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.parameters import NGrams, NotEmpty, ParameterError, Share, ShareLimit
from jinx_pipeline.operators.text.ratios import shares
from jinx_pipeline.operators.text.words import word_files, word_list

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class ListedWordsFilter(Filter):
    """Keeps texts whose share of listed words among all words lies in a range.

    Attributes:
        lang: The language of the list: `en`, `zh`, `es`, `fr`, `de`, `ar`, `hi`, `all` of them, or one of your own
            files.
        tokenization: Split at Unicode's word boundaries instead of white space, for scripts without spaces.
        min_ratio: The smallest share, from 0 to 1.
        max_ratio: The largest share.
        use_words_aug: Also look for consecutive words, joined: for Chinese, where a word is several ideographs.
        words_aug_group_sizes: How many consecutive words.
        words_aug_join_char: The string that joins them.
    """

    lang: str = "en"
    tokenization: bool = False
    min_ratio: Share = 0.0
    max_ratio: ShareLimit = 1.0
    use_words_aug: bool = False
    words_aug_group_sizes: Annotated[tuple[NGrams, ...], NotEmpty()] = (2,)
    words_aug_join_char: str = ""

    @abstractmethod
    def source(self) -> tuple[str, Path | None, list[str] | None]:
        """The kind of list, and the directory and list given by the user."""

    def check(self) -> None:
        kind, _, words = self.source()
        if words:
            for word, (found, _) in zip(words, self._counts(words, words, threads=1), strict=True):
                if not found:
                    problem = f"{word!r} is never found: words have no white space, and begin and end with letters"
                    raise ParameterError(self.name, kind, problem)

    def resolve(self) -> None:
        self._words()

    @property
    def digested_files(self) -> list[str]:
        kind, folder, words = self.source()
        return [str(path) for path in word_files(kind, folder)] if folder is not None and words is None else []

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        counts = self._counts(batch.text, self._words(), threads=ctx.threads)
        (name,) = self.stats
        return {name: shares(counts[:, 0], counts[:, 1])}

    def _counts(self, texts: Any, words: list[str], *, threads: int | None) -> "npt.NDArray[np.int64]":
        """For each text, the number of its words in the list, and the number of its words."""
        return kernels.count_listed_words(
            texts,
            words,
            split="unicode" if self.tokenization else "space",
            groups=self.words_aug_group_sizes if self.use_words_aug else (),
            joiner=self.words_aug_join_char,
            threads=threads,
        )

    def _words(self) -> list[str]:
        kind, folder, words = self.source()
        return word_list(kind, self.lang, folder, self.name) if words is None else words
