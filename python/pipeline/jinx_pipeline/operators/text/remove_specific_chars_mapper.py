"""Removes given characters: the operator `remove_specific_chars_mapper`."""

import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register


@register("remove_specific_chars_mapper", modality="text")
class RemoveSpecificCharsMapper(TextMapper):
    """Removes single characters from texts.

        create("remove_specific_chars_mapper")([{"text": "◆ item ●"}])  # [{"text": " item "}]

    Attributes:
        chars_to_remove: The characters, as a string or a list.
    """

    chars_to_remove: str | list[str] = "◆●■►▼▲▴∆▻▷❖♡□"

    def check(self) -> None:
        for character in self.chars_to_remove:
            if len(character) != 1:
                problem = f"chars_to_remove has {character!r}; it lists characters"
                raise ParameterError(self.name, "chars_to_remove", problem)

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_characters(texts, dict.fromkeys(self.chars_to_remove, ""), threads=ctx.threads)
