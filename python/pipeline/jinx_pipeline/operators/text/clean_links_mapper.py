"""clean_links_mapper."""

import re

import pyarrow as pa

from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import TextMapper
from jinx_pipeline.operators.registry import register

_LINK = re.compile(r"(?i)(?:https?://|ftp://|www\d{0,3}[.])\S+")


@register("clean_links_mapper", modality="text")
class CleanLinksMapper(TextMapper):
    """Replaces links (http, https, ftp, www) in texts.

    create("clean_links_mapper")([{"text": "see https://example.org/a now"}])
    # [{"text": "see  now"}]

    Attributes:
        repl: What a link becomes.
    """

    repl: str = ""

    def edit(self, texts: pa.Array, ctx: Context) -> list[str]:
        return [_LINK.sub(lambda _: self.repl, text) for text in texts.to_pylist()]
