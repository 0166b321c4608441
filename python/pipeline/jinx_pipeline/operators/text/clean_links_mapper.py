"""clean_links_mapper."""

import pyarrow as pa

from jinx import kernels
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Edited, TextMapper
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced


@register("clean_links_mapper", modality="text")
class CleanLinksMapper(TextMapper):
    """Replaces links (`http://`, `https://`, `ftp://`, `www.`) in texts; punctuation after a link stays.

        create("clean_links_mapper")([{"text": "see https://example.org/a, please"}])  # [{"text": "see , please"}]

    Attributes:
        pattern: A regular expression for what to replace instead.
        repl: What a link becomes.
    """

    pattern: str | None = None
    repl: str = ""

    def check(self) -> None:
        if self.pattern is not None:
            checked_pattern(self.name, self.pattern, self.repl)

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        if self.pattern is None:
            return kernels.replace_links(texts, self.repl, threads=ctx.threads)
        return replaced(texts, [(self.pattern, self.repl)], ctx)
