"""Removes words by their substrings: the operator `remove_words_with_incorrect_substrings_mapper`."""

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
    """Removes words that contain one of the given strings, such as leftovers of links and markup.

    Punctuation and symbols at either end are not part of a word.

        create("remove_words_with_incorrect_substrings_mapper")([{"text": "see www.a.org now"}])
        # [{"text": "see now"}]

    Attributes:
        lang: The language; not used.
        tokenization: Split words at Unicode's word boundaries instead of white space, for scripts without spaces.
        substrings: The strings; by default `http`, `www`, `.com`, `href` and `//`.
    """

    lang: str = "en"
    tokenization: bool = False
    substrings: Words | None = None

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        wrong = ["http", "www", ".com", "href", "//"] if self.substrings is None else self.substrings
        if self.tokenization:
            alternatives = "|".join(re.escape(string) for string in wrong if string)
            return replaced(texts, [(rf"\w*(?:{alternatives})\w*", "")], ctx) if alternatives else texts

        def is_wrong(word: str) -> bool:
            return any(string in word for string in wrong) and any(string in stripped(word) for string in wrong)

        return [without_words(text, is_wrong) for text in texts.to_pylist()]
