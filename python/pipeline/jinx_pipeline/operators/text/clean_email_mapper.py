"""clean_email_mapper."""

import pyarrow as pa

from jinx import kernels
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Edited
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.text.replacing import PatternMapper


@register("clean_email_mapper", modality="text")
class CleanEmailMapper(PatternMapper):
    """Replaces e-mail addresses in texts.

        create("clean_email_mapper", repl="[mail]")([{"text": "to a.b@example.org."}])  # [{"text": "to [mail]."}]

    Attributes:
        pattern: A regular expression for what to replace instead.
        repl: What it becomes.
    """

    def replace_found(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_emails(texts, self.repl, threads=ctx.threads)
