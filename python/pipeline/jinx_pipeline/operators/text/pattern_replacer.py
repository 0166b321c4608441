"""What mappers that replace what they find in texts have in common."""

from abc import abstractmethod

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced


class FoundReplacer(TextMapper):
    """Replaces what a kernel finds in texts, or what a pattern of the user matches.

    Attributes:
        pattern: A regular expression for what to replace instead.
        repl: What it becomes.
    """

    pattern: str | None = None
    repl: str = ""

    @abstractmethod
    def replace(self, texts: pa.Array, ctx: Context) -> Edited:
        """The texts in which `repl` replaces what there is; None for one that stays."""

    def check(self) -> None:
        if self.pattern is not None:
            checked_pattern(self.name, self.pattern, self.repl)

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return self.replace(texts, ctx) if self.pattern is None else replaced(texts, [(self.pattern, self.repl)], ctx)
