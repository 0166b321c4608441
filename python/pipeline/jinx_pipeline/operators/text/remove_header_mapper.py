"""Removes the preamble of LaTeX documents: the operator `remove_header_mapper`."""

import re

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register


@register("remove_header_mapper", modality="text")
class RemoveHeaderMapper(TextMapper):
    r"""Removes the text before the first heading of LaTeX documents (`chapter`, `part`, `section` and so on).

        create("remove_header_mapper")([{"text": "head\\section{A} text"}])  # [{"text": "\\section{A} text"}]

    Attributes:
        drop_no_head: A document without a heading becomes empty.
    """

    drop_no_head: bool = True

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return [self._without_header(text) for text in texts.to_pylist()]

    def _without_header(self, text: str) -> str | None:
        heading = _HEADING.search(text)
        if heading is None:
            return "" if self.drop_no_head else None
        return text[heading.start() :]


_HEADING = re.compile(r"\\(?:chapter|part|(?:sub){0,2}section|(?:sub)?paragraph)\*?(?:\[[^\]]*\])?\{")
