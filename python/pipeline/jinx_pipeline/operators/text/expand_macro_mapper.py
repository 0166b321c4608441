"""Expands LaTeX macros: the operator `expand_macro_mapper`."""

import re

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register


@register("expand_macro_mapper", modality="text")
class ExpandMacroMapper(TextMapper):
    r"""Replaces LaTeX macros without arguments by their values.

    Macros are defined by `newcommand`, `renewcommand`, `providecommand` or `def`. The definitions stay unchanged. A
    value may use other macros, up to ten levels deep.

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
    for match in _DEFINITION.finditer(text):
        end = _end_of_group(text, match.end())
        if end is not None and (not bounds or match.start() >= bounds[-1][1]):
            values[match[1] or match[2]] = text[match.end() + 1 : end - 1]
            bounds.append((match.start(), end))
    if not values:
        return None
    parts: list[str] = []
    place = 0
    for start, end in bounds:
        parts += [_applied(text[place:start], values), text[start:end]]
        place = end
    return "".join([*parts, _applied(text[place:], values)])


def _applied(text: str, values: dict[str, str]) -> str:
    """The text with its macros replaced, unless this makes it very much longer."""
    max_length = _LARGEST * len(text) + 1_000_000
    for _ in range(_DEPTH):
        after = _MACRO.sub(lambda match: values.get(match[1], match[0]), text)
        if after == text or len(after) > max_length:
            break
        text = after
    return text


def _end_of_group(text: str, start: int) -> int | None:
    """The position after the group in braces that starts at `start`."""
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match[0] == "}":
            return match.end()
    return None
