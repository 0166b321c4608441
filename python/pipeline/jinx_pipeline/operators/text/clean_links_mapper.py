"""Removes or masks links: the operator `clean_links_mapper`."""

import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.pattern_replacer import MatchReplacer


@register("clean_links_mapper", modality="text")
class CleanLinksMapper(MatchReplacer):
    """Replaces links (`http://`, `https://`, `ftp://`, `www.`) in texts; punctuation after a link stays.

    With `pattern`, it replaces the matches of the pattern instead.

        create("clean_links_mapper")([{"text": "see https://example.org/a, please"}])  # [{"text": "see , please"}]
    """

    def replace(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_links(texts, self.repl, threads=ctx.threads)
