"""clean_email_mapper."""

import pyarrow as pa

from jinx import kernels
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Edited, TextMapper
from jinx_pipeline.operators.registry import register
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced


@register("clean_email_mapper", modality="text")
class CleanEmailMapper(TextMapper):
    """Replaces e-mail addresses in texts.

        create("clean_email_mapper", repl="[mail]")([{"text": "to a.b@example.org."}])  # [{"text": "to [mail]."}]

    Attributes:
        pattern: A regular expression for what to replace instead.
        repl: What it becomes.
    """

    pattern: str | None = None
    repl: str = ""

    def check(self) -> None:
        if self.pattern is not None:
            checked_pattern(self.name, self.pattern, self.repl)

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        if self.pattern is None:
            return kernels.replace_emails(texts, self.repl, threads=ctx.threads)
        return replaced(texts, [(self.pattern, self.repl)], ctx)
