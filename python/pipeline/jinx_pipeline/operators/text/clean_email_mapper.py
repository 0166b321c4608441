"""Removes or masks e-mail addresses: the operator `clean_email_mapper`."""

import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.pattern_replacer import MatchReplacer


@register("clean_email_mapper", modality="text")
class CleanEmailMapper(MatchReplacer):
    """Replaces e-mail addresses in texts.

    With `pattern`, it replaces the matches of the pattern instead.

        create("clean_email_mapper", repl="[mail]")([{"text": "to a.b@example.org."}])  # [{"text": "to [mail]."}]
    """

    def replace(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_emails(texts, self.repl, threads=ctx.threads)
