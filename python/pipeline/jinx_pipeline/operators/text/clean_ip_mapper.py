"""clean_ip_mapper."""

import pyarrow as pa

from jinx import kernels
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Edited
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.text.replacing import PatternMapper


@register("clean_ip_mapper", modality="text")
class CleanIpMapper(PatternMapper):
    """Replaces IP addresses, of version 4 and 6, in texts.

        create("clean_ip_mapper", repl="[ip]")([{"text": "10.0.0.1, not 999.1.1.1"}])
        # [{"text": "[ip], not 999.1.1.1"}]

    Attributes:
        pattern: A regular expression for what to replace instead.
        repl: What it becomes.
    """

    def replace_found(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_ips(texts, self.repl, threads=ctx.threads)
