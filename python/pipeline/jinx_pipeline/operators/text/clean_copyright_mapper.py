"""Removes copyright comments: the operator `clean_copyright_mapper`."""

import re

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register


@register("clean_copyright_mapper", modality="text")
class CleanCopyrightMapper(TextMapper):
    r"""Removes the comment at the beginning of a source file if it mentions copyright.

    The comment is a block of `/* */`, or lines that start with `//`, `#` or `--`; a `#!` line before it stays. Other
    comments stay.

        create("clean_copyright_mapper")([{"text": "// Copyright 2024\n\nx = 1"}])  # [{"text": "x = 1"}]
    """

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return [_without_copyright(text) for text in texts.to_pylist()]


_LINE = re.compile(r"[ \t]*(?://|#|--)")


def _without_copyright(text: str) -> str | None:
    first, newline, _ = text.partition("\n")
    shebang = first + newline if first.startswith("#!") else ""
    code = text[len(shebang) :]
    start = len(code) - len(code.lstrip())
    if code.startswith("/*", start):
        end = code.find("*/", start)
        end = len(code) if end < 0 else end + 2
    else:
        end = start
        for line in code[start:].splitlines(keepends=True):
            if not _LINE.match(line):
                break
            end += len(line)
    if "copyright" not in code[start:end].lower():
        return None
    return shebang + code[end:].lstrip("\r\n")
