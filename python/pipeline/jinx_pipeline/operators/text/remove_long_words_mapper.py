"""Removes words by their length: the operator `remove_long_words_mapper`."""

import sys
from typing import Annotated

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.parameters import Range, check_bounds
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.word_runs import stripped, without_words


@register("remove_long_words_mapper", modality="text")
class RemoveLongWordsMapper(TextMapper):
    """Removes words whose length is out of range, such as links without spaces, keys and encoded data.

    Punctuation and symbols at either end do not count for the length. White space around a removed word becomes one
    space.

        create("remove_long_words_mapper", max_len=5)([{"text": "a verylongword b"}])  # [{"text": "a b"}]

    Attributes:
        min_len: The smallest length in code points.
        max_len: The largest length in code points.
    """

    min_len: Annotated[int, Range(0)] = 1
    max_len: Annotated[int, Range(1)] = sys.maxsize

    def check(self) -> None:
        check_bounds(self, "min_len", "max_len")

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return [without_words(text, self._is_out_of_range) for text in texts.to_pylist()]

    def _is_out_of_range(self, word: str) -> bool:
        if self.min_len <= len(word) <= self.max_len:
            return False
        return not self.min_len <= len(stripped(word)) <= self.max_len
