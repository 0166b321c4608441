"""clean_links_mapper."""

import pyarrow as pa

from jinx import kernels
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Edited, TextMapper
from jinx_pipeline.operators.registry import register


@register("clean_links_mapper", modality="text")
class CleanLinksMapper(TextMapper):
    """Replaces links (`http://`, `https://`, `ftp://`, `www.`) in texts; punctuation after a link stays.

        create("clean_links_mapper")([{"text": "see https://example.org/a, please"}])  # [{"text": "see , please"}]

    Attributes:
        repl: What a link becomes.
    """

    repl: str = ""

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_links(texts, self.repl, threads=ctx.threads)
