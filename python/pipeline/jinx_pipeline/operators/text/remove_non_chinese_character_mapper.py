"""Removes characters that are not Chinese: the operator `remove_non_chinese_character_mapper`."""

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.patterns import replaced


@register("remove_non_chinese_character_mapper", modality="text")
class RemoveNonChineseCharacterMapper(TextMapper):
    """Removes all characters except Chinese ideographs and, by default, ASCII letters, digits and punctuation.

        create("remove_non_chinese_character_mapper", keep_alphabet=False)([{"text": "abc你好1"}])
        # [{"text": "你好1"}]

    Attributes:
        keep_alphabet: Keep ASCII letters.
        keep_number: Keep ASCII digits.
        keep_punc: Keep Chinese and ASCII punctuation, and spaces.
    """

    keep_alphabet: bool = True
    keep_number: bool = True
    keep_punc: bool = True

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        characters = r"\p{Han}"
        if self.keep_alphabet:
            characters += "A-Za-z"
        if self.keep_number:
            characters += "0-9"
        if self.keep_punc:
            characters += _PUNCTUATION
        return replaced(texts, [(f"[^{characters}]+", "")], ctx)


_PUNCTUATION = (
    r" .,\-%*/&()+:?!\u00B7\u2014\u2018-\u201D\u2022\u2026\u3001\u3002\u300A-\u3011\uFF01-\uFF0F\uFF1A-\uFF20"
)
