"""clean_copyright_mapper."""

import re

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register


@register("clean_copyright_mapper", modality="text")
class CleanCopyrightMapper(TextMapper):
    r"""Removes the comment at the beginning of a source file if it speaks of copyright.

    It is a block of `/* */`, or lines that start with `//`, `#` or `--`; a `#!` line before it stays. Comments that do
    not speak of copyright stay.

        create("clean_copyright_mapper")([{"text": "// Copyright 2024\n\nx = 1"}])  # [{"text": "x = 1"}]
    """

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return [_without_copyright(text) for text in texts.to_pylist()]


_LINE = re.compile(r"[ \t]*(?://|#|--)")


def _without_copyright(text: str) -> str | None:
    first, newline, _ = text.partition("\n")
    kept = first + newline if first.startswith("#!") else ""
    rest = text[len(kept) :]
    start = len(rest) - len(rest.lstrip())
    if rest.startswith("/*", start):
        end = rest.find("*/", start)
        end = len(rest) if end < 0 else end + 2
    else:
        end = start
        for line in rest[start:].splitlines(keepends=True):
            if not _LINE.match(line):
                break
            end += len(line)
    if "copyright" not in rest[start:end].lower():
        return None
    return kept + rest[end:].lstrip("\r\n")
