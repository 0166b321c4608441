"""Repairs wrongly decoded text with ftfy: the operator `fix_unicode_mapper`."""

from typing import Literal

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.optional import require


@register("fix_unicode_mapper", modality="text")
class FixUnicodeMapper(TextMapper):
    """Repairs texts that were decoded with the wrong encoding. Needs `ftfy`.

        create("fix_unicode_mapper")([{"text": "schÃ¶n"}])  # [{"text": "schön"}]

    Attributes:
        normalization: The Unicode normal form of the result; `NFC` by default.
    """

    normalization: Literal["NFC", "NFKC", "NFD", "NFKD"] | None = None

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        ftfy = require("ftfy", extra="text", what="fix_unicode_mapper")
        form = self.normalization or "NFC"
        return [ftfy.fix_text(text, normalization=form) for text in texts.to_pylist()]
