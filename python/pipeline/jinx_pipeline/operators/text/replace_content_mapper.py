"""replace_content_mapper."""

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced


@register("replace_content_mapper", modality="text")
class ReplaceContentMapper(TextMapper):
    r"""Replaces what one or several regular expressions match in texts, one after another.

    The steps for one text are bounded, so that no pattern runs forever: a text for which it takes too long is a bad
    row.

        create("replace_content_mapper", pattern="[0-9]+", repl="0")([{"text": "in 1999"}])  # [{"text": "in 0"}]

    Attributes:
        pattern: A regular expression or several; none changes nothing.
        repl: What its matches become, or what those of each pattern become; `\1` is the first group.
    """

    pattern: str | list[str] | None = None
    repl: str | list[str] = ""

    def check(self) -> None:
        patterns = self._patterns()
        if isinstance(self.repl, list) and len(self.repl) != len(patterns):
            what = f"{len(self.repl)} replacements for {len(patterns)} patterns; give one for all, or one for each"
            raise ParameterError(self.name, "repl", what)
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
