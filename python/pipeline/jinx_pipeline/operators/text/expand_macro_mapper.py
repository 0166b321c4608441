"""expand_macro_mapper."""

import re

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register


@register("expand_macro_mapper", modality="text")
class ExpandMacroMapper(TextMapper):
    r"""Replaces macros of LaTeX that take no arguments by their values.

    Macros are defined by `newcommand`, `renewcommand`, `providecommand` or `def`. The definitions stay as they are. A
    value may use other macros, up to ten deep.

        create("expand_macro_mapper")([{"text": "\\def\\x{y} a \\x."}])  # [{"text": "\\def\\x{y} a y."}]
    """

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return [_expanded(text) if "\\def" in text or "command" in text else None for text in texts.to_pylist()]


_DEPTH = 10
_LARGEST = 10
_DEFINITION = re.compile(
    r"\\(?:newcommand|renewcommand|providecommand)\*?[ \t]*\{?[ \t]*\\([A-Za-z]+)[ \t]*\}?[ \t]*(?=\{)"
    r"|\\def[ \t]*\\([A-Za-z]+)[ \t]*(?=\{)"
)
_MACRO = re.compile(r"\\([A-Za-z]+)")


def _expanded(text: str) -> str | None:
    values: dict[str, str] = {}
    bounds: list[tuple[int, int]] = []
    for found in _DEFINITION.finditer(text):
        end = _end_of_group(text, found.end())
        if end is not None and (not bounds or found.start() >= bounds[-1][1]):
            values[found[1] or found[2]] = text[found.end() + 1 : end - 1]
            bounds.append((found.start(), end))
    if not values:
        return None
    parts: list[str] = []
    place = 0
    for start, end in bounds:
        parts += [_applied(text[place:start], values), text[start:end]]
        place = end
    return "".join([*parts, _applied(text[place:], values)])


def _applied(text: str, values: dict[str, str]) -> str:
    """The text with its macros replaced, unless that makes it very much longer."""
    most = _LARGEST * len(text) + 1_000_000
    for _ in range(_DEPTH):
        after = _MACRO.sub(lambda found: values.get(found[1], found[0]), text)
        if after == text or len(after) > most:
            break
        text = after
    return text


def _end_of_group(text: str, start: int) -> int | None:
    """Where the group in braces that starts at `start` ends."""
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0 and found[0] == "}":
            return found.end()
    return None
