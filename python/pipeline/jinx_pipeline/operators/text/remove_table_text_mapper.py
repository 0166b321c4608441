"""Removes tables written as text: the operator `remove_table_text_mapper`."""

import re

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register


@register("remove_table_text_mapper", modality="text")
class RemoveTableTextMapper(TextMapper):
    r"""Removes tables from texts: two or more consecutive lines with the same number of columns.

    Bars separate columns; in lines without a bar, single spaces or tabs do. Lines that start with white space are not
    part of a table. Consecutive lines of prose with the same number of words look like a table too.

        create("remove_table_text_mapper")([{"text": "Prices of all\na 1\nb 2\nThat was it all."}])
        # [{"text": "Prices of all\nThat was it all."}]

    Attributes:
        min_col: The smallest number of columns.
        max_col: The largest number of columns.
    """

    min_col: int = 2
    max_col: int = 20

    def check(self) -> None:
        if not 2 <= self.min_col <= self.max_col:  # noqa: PLR2004 - a table has at least two columns
            problem = f"min_col is {self.min_col} and max_col {self.max_col}; a table has 2 columns or more"
            raise ParameterError(self.name, "min_col", problem)

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return [self._without_tables(text) for text in texts.to_pylist()]

    def _without_tables(self, text: str) -> str | None:
        lines = text.splitlines(keepends=True)
        counts = [_columns(line) for line in lines]
        kept_lines: list[str] = []
        start = 0
        while start < len(lines):
            stop = start + 1
            while stop < len(lines) and counts[stop] == counts[start]:
                stop += 1
            if not (stop - start > 1 and self.min_col <= counts[start][0] <= self.max_col):
                kept_lines += lines[start:stop]
            start = stop
        return "".join(kept_lines) if len(kept_lines) < len(lines) else None


_COLUMN = re.compile(r"[ \t]")


def _columns(line: str) -> tuple[int, bool]:
    """The number of columns of a line, and whether bars separate them; 0 if a column between spaces is empty."""
    if "|" in line and not line[0].isspace():
        return line.strip().removeprefix("|").removesuffix("|").count("|") + 1, True
    columns = _COLUMN.split(line.rstrip())
    return (len(columns) if all(columns) else 0), False
