"""The base class of mappers that replace matches in texts."""

from abc import abstractmethod

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced


class MatchReplacer(TextMapper):
    """Replaces the matches of a kernel in texts, or of a user's pattern.

    Attributes:
        pattern: A regular expression for other matches to replace; a dot also matches line ends.
        repl: The replacement.
    """

    pattern: str | None = None
    repl: str = ""

    @abstractmethod
    def replace(self, texts: pa.Array, ctx: Context) -> Edited:
        """The texts with matches replaced by `repl`; None keeps a text."""

    def check(self) -> None:
        if self.pattern is not None:
            checked_pattern(self.name, self.pattern, self.repl)

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return self.replace(texts, ctx) if self.pattern is None else replaced(texts, [(self.pattern, self.repl)], ctx)
