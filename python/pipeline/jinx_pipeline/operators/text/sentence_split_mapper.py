"""Splits texts into lines of one sentence: the operator `sentence_split_mapper`."""

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.sentences import sentences


@register("sentence_split_mapper", modality="text")
class SentenceSplitMapper(TextMapper):
    r"""Puts each sentence of a text on its own line, using rules for punctuation and abbreviations.

        create("sentence_split_mapper")([{"text": "Dr. No is here. Who?"}])  # [{"text": "Dr. No is here.\nWho?"}]

    Attributes:
        lang: The language, for its abbreviations: `en`, `de`, `fr`, `es`; other languages have none.
    """

    lang: str = "en"

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return ["\n".join(filter(None, map(str.strip, sentences(text, self.lang)))) for text in texts.to_pylist()]
