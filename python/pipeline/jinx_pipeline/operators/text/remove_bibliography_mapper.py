"""Removes LaTeX bibliographies: the operator `remove_bibliography_mapper`."""

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.patterns import replaced


@register("remove_bibliography_mapper", modality="text")
class RemoveBibliographyMapper(TextMapper):
    r"""Removes the bibliography at the end of LaTeX documents.

    It starts with `appendix` or `bibliography`, or with the environment `references` or `thebibliography`.

        create("remove_bibliography_mapper")([{"text": "a\\bibliography{b} c"}])  # [{"text": "a"}]
    """

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return replaced(texts, [(_START + ".*", "")], ctx)


# Not `\b`, which makes the regex engine slow on huge texts.
_START = r"\\(?:appendix(?:\W|$)|begin\{(?:references|REFERENCES|thebibliography)\}|bibliography\{)"
