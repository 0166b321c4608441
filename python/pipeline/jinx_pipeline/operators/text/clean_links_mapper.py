"""clean_links_mapper."""

import pyarrow as pa

from jinx import kernels
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Edited
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.text.replacing import PatternMapper


@register("clean_links_mapper", modality="text")
class CleanLinksMapper(PatternMapper):
    """Replaces links (`http://`, `https://`, `ftp://`, `www.`) in texts; punctuation after a link stays.

        create("clean_links_mapper")([{"text": "see https://example.org/a, please"}])  # [{"text": "see , please"}]

    Attributes:
        pattern: A regular expression for what to replace instead.
        repl: What a link becomes.
    """

    def replace_found(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_links(texts, self.repl, threads=ctx.threads)
