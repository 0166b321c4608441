"""clean_ip_mapper."""

import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.pattern_replacer import FoundReplacer


@register("clean_ip_mapper", modality="text")
class CleanIpMapper(FoundReplacer):
    """Replaces IP addresses, of version 4 and 6, in texts.

    With `pattern` it replaces what that matches instead.

        create("clean_ip_mapper", repl="[ip]")([{"text": "10.0.0.1, not 999.1.1.1"}])
        # [{"text": "[ip], not 999.1.1.1"}]
    """

    def replace(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_ips(texts, self.repl, threads=ctx.threads)
