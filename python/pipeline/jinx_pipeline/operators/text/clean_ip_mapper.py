"""Removes or masks IP addresses: the operator `clean_ip_mapper`."""

import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.pattern_replacer import MatchReplacer


@register("clean_ip_mapper", modality="text")
class CleanIpMapper(MatchReplacer):
    """Replaces IPv4 and IPv6 addresses in texts.

    With `pattern`, it replaces the matches of the pattern instead.

        create("clean_ip_mapper", repl="[ip]")([{"text": "10.0.0.1, not 999.1.1.1"}])
        # [{"text": "[ip], not 999.1.1.1"}]
    """

    def replace(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_ips(texts, self.repl, threads=ctx.threads)
