"""Normalizes white space: the operator `whitespace_normalization_mapper`."""

import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register


@register("whitespace_normalization_mapper", modality="text")
class WhitespaceNormalizationMapper(TextMapper):
    r"""Removes white space at both ends of texts, and replaces other white space of any kind by ASCII spaces.

    Line ends stay. Zero-width spaces and word joiners count as white space; the joiners that Arabic, Persian, Hindi and
    emoji use stay.

        create("whitespace_normalization_mapper")([{"text": " a\u3000b\tc\n"}])  # [{"text": "a b c"}]
    """

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_characters(texts, _BECOMES, strip=True, threads=ctx.threads)


_BECOMES = dict.fromkeys(
    "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u202f\u205f\u2060\u3000\ufeff\ufffc",
    " ",
)
