"""Removes repeated sentences: the operator `remove_repeat_sentences_mapper`."""

from typing import Annotated

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.sentences import sentences
from jinx_pipeline.operators.text.word_runs import is_part_of_word


@register("remove_repeat_sentences_mapper", modality="text")
class RemoveRepeatSentencesMapper(TextMapper):
    """Removes later copies of a sentence within a text.

        create("remove_repeat_sentences_mapper")([{"text": "Buy it. Read on. Buy it!"}])
        # [{"text": "Buy it. Read on."}]

    Attributes:
        lowercase: Whether case is ignored.
        ignore_special_character: Whether only letters, digits and marks are compared.
        min_repeat_sentence_length: Shorter sentences stay, in compared code points.
    """

    lowercase: bool = False
    ignore_special_character: bool = True
    min_repeat_sentence_length: Annotated[int, Range(0)] = 2

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return [self._without_copies(text) for text in texts.to_pylist()]

    def _without_copies(self, text: str) -> str | None:
        pieces = sentences(text, start_small=True)
        earlier: set[str] = set()
        kept_sentences: list[str] = []
        for piece in pieces:
            compared = piece.strip().lower() if self.lowercase else piece.strip()
            if self.ignore_special_character:
                compared = "".join(filter(is_part_of_word, compared))
            if len(compared) < self.min_repeat_sentence_length or compared not in earlier:
                kept_sentences.append(piece)
            earlier.add(compared)
        return "".join(kept_sentences).rstrip() if len(kept_sentences) < len(pieces) else None
