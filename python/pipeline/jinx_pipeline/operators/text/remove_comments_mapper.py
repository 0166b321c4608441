"""Removes LaTeX comments: the operator `remove_comments_mapper`."""

from typing import Annotated, Literal

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.patterns import replaced


@register("remove_comments_mapper", modality="text")
class RemoveCommentsMapper(TextMapper):
    r"""Removes comments from LaTeX documents.

        create("remove_comments_mapper")([{"text": "% all\na % rest\n50\\% of"}])  # [{"text": "a \n50\\% of"}]

    Attributes:
        doc_type: The kind of document; `tex`.
        inline: Remove comments after other text in a line.
        multiline: Remove lines that only consist of a comment.
    """

    doc_type: Literal["tex"] | Annotated[list[Literal["tex"]], NotEmpty()] = "tex"
    inline: bool = True
    multiline: bool = True

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        steps: list[tuple[str, str]] = []
        if self.multiline:
            steps.append((r"(?m)^%[^\n]*\n?", ""))
        if self.inline:
            steps.append((r"(?m)([^\\\n])%[^\n]*$", r"\1"))
        return replaced(texts, steps, ctx)
