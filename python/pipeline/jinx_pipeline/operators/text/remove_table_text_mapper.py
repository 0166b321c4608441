"""remove_table_text_mapper."""

import re

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register


@register("remove_table_text_mapper", modality="text")
class RemoveTableTextMapper(TextMapper):
    r"""Removes tables from texts: two or more successive lines with the same number of columns.

    Columns are separated by bars; in lines without a bar by a space or a tab each. Lines that start with white space
    are no part of a table. A line of prose among lines with as many words looks the same.

        create("remove_table_text_mapper")([{"text": "Prices of all\na 1\nb 2\nThat was it all."}])
        # [{"text": "Prices of all\nThat was it all."}]

    Attributes:
        min_col: The least number of columns.
        max_col: The largest.
    """

    min_col: int = 2
    max_col: int = 20

    def check(self) -> None:
        if not 2 <= self.min_col <= self.max_col:  # noqa: PLR2004 - a table has columns
            what = f"min_col is {self.min_col} and max_col {self.max_col}; a table has 2 columns or more"
            raise ParameterError(self.name, "min_col", what)

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return [self._without_tables(text) for text in texts.to_pylist()]

    def _without_tables(self, text: str) -> str | None:
        lines = text.splitlines(keepends=True)
        counts = [_columns(line) for line in lines]
        kept: list[str] = []
        at = 0
        while at < len(lines):
            stop = at + 1
            while stop < len(lines) and counts[stop] == counts[at]:
                stop += 1
            if not (stop - at > 1 and self.min_col <= counts[at][0] <= self.max_col):
                kept += lines[at:stop]
            at = stop
        return "".join(kept) if len(kept) < len(lines) else None


_COLUMN = re.compile(r"[ \t]")


def _columns(line: str) -> tuple[int, bool]:
    """How many columns a line has, and whether bars separate them; 0 for a line with an empty column between spaces."""
    if "|" in line and not line[0].isspace():
        return line.strip().removeprefix("|").removesuffix("|").count("|") + 1, True
    columns = _COLUMN.split(line.rstrip())
    return (len(columns) if all(columns) else 0), False
