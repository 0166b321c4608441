"""What operators share that replace something they recognize, or the matches of a pattern instead."""

from abc import abstractmethod

import pyarrow as pa

from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Edited, TextMapper
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced


class PatternMapper(TextMapper):
    """Replaces what a subclass finds in texts.

    Attributes:
        pattern: A regular expression for what to replace instead.
        repl: What it becomes.
    """

    pattern: str | None = None
    repl: str = ""

    @abstractmethod
    def replace_found(self, texts: pa.Array, ctx: Context) -> Edited:
        """The texts with `repl` in place of what was found; None for one that stays as it is."""

    def check(self) -> None:
        if self.pattern is not None:
            checked_pattern(self.name, self.pattern, self.repl)

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        if self.pattern is None:
            return self.replace_found(texts, ctx)
        return replaced(texts, [(self.pattern, self.repl)], ctx)
