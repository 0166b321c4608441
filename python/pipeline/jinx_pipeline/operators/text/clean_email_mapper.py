"""clean_email_mapper."""

import pyarrow as pa

from jinx import kernels
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Edited
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.text.found_replacer import FoundReplacer


@register("clean_email_mapper", modality="text")
class CleanEmailMapper(FoundReplacer):
    """Replaces e-mail addresses in texts.

    With `pattern` it replaces what that matches instead.

        create("clean_email_mapper", repl="[mail]")([{"text": "to a.b@example.org."}])  # [{"text": "to [mail]."}]
    """

    def replace(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_emails(texts, self.repl, threads=ctx.threads)
