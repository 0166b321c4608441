"""remove_words_with_incorrect_substrings_mapper."""

import re

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.parameters import Words
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.patterns import replaced
from jinx_pipeline.operators.text.word_runs import stripped, without_words


@register("remove_words_with_incorrect_substrings_mapper", modality="text")
class RemoveWordsWithIncorrectSubstringsMapper(TextMapper):
    """Removes words that hold any of some strings: rests of links and of markup.

    Punctuation and symbols at either end of a word are no part of it.

        create("remove_words_with_incorrect_substrings_mapper")([{"text": "see www.a.org now"}])
        # [{"text": "see now"}]

    Attributes:
        lang: The language; it makes no difference.
        tokenization: Take words at Unicode's word boundaries instead of white space, for scripts without spaces.
        substrings: The strings; `http`, `www`, `.com`, `href` and `//` if not given.
    """

    lang: str = "en"
    tokenization: bool = False
    substrings: Words | None = None

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        wrong = ["http", "www", ".com", "href", "//"] if self.substrings is None else self.substrings
        if self.tokenization:
            either = "|".join(re.escape(one) for one in wrong if one)
            return replaced(texts, [(rf"\w*(?:{either})\w*", "")], ctx) if either else texts

        def is_wrong(word: str) -> bool:
            return any(one in word for one in wrong) and any(one in stripped(word) for one in wrong)

        return [without_words(text, is_wrong) for text in texts.to_pylist()]
