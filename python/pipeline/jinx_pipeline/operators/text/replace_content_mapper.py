"""Replaces matches of regular expressions: the operator `replace_content_mapper`."""

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced


@register("replace_content_mapper", modality="text")
class ReplaceContentMapper(TextMapper):
    r"""Replaces the matches of one or several regular expressions in texts, one after another.

    The number of matching steps for a text is limited, so that no pattern runs forever: a text that exceeds the limit
    is a bad row. As in Data-Juicer, a dot also matches line ends: write `[^\n]` for one that does not.

        create("replace_content_mapper", pattern="[0-9]+", repl="0")([{"text": "in 1999"}])  # [{"text": "in 0"}]

    Attributes:
        pattern: One or several regular expressions; without one, nothing changes.
        repl: The replacement for matches, or a list with a replacement for each pattern; `\1` is the first group.
    """

    pattern: str | list[str] | None = None
    repl: str | list[str] = ""

    def check(self) -> None:
        patterns = self._patterns()
        if isinstance(self.repl, list) and len(self.repl) != len(patterns):
            problem = f"{len(self.repl)} replacements for {len(patterns)} patterns; give a single one, or as many"
            raise ParameterError(self.name, "repl", problem)
        for pattern, repl in self._steps():
            checked_pattern(self.name, pattern, repl)

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return replaced(texts, self._steps(), ctx)

    def _patterns(self) -> list[str]:
        return [self.pattern] if isinstance(self.pattern, str) else self.pattern or []

    def _steps(self) -> list[tuple[str, str]]:
        patterns = self._patterns()
        repl = self.repl if isinstance(self.repl, list) else [self.repl] * len(patterns)
        return list(zip(patterns, repl, strict=True))
