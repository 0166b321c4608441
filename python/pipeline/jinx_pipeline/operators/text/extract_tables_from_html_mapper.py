"""Extracts the tables of HTML documents: the operator `extract_tables_from_html_mapper`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Annotated, Any, Final

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, metadata_of, with_metadata
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register


@register("extract_tables_from_html_mapper", modality="text")
class ExtractTablesFromHtmlMapper(Mapper):
    """Adds the tables of an HTML document to `__dj__meta__`: lists of rows, which are lists of the texts of cells.

    White space in a cell is one space. A table inside of a cell is a table of its own, and its text is not part of the
    cell. Rows and tables without cells are left out. A sample that already has the field stays as it is.

        create("extract_tables_from_html_mapper")([{"text": "<table><tr><th>a<td>1</table>"}])

    Attributes:
        tables_field_name: The name of the tables in `__dj__meta__`.
        retain_html_tags: Add the HTML of each table instead.
        include_header: Whether rows with a header cell (`th`) count; not with `retain_html_tags`.
    """

    tables_field_name: Annotated[str, NotEmpty()] = "html_tables"
    retain_html_tags: bool = False
    include_header: bool = True

    @property
    def reads(self) -> tuple[str, ...]:
        return ("text", META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        samples = batch.samples()
        facts = [
            {} if self.tables_field_name in metadata_of(sample) else {self.tables_field_name: self._tables(text)}
            for sample, text in zip(samples, batch.text.to_pylist(), strict=True)
        ]
        return with_metadata(samples, facts)

    def _tables(self, text: str) -> list[Any]:
        if "<table" not in text.lower():
            return []
        parser = _Tables(text)
        parser.feed(text)
        parser.close()
        parser.finish()
        if self.retain_html_tags:
            return [text[table.start : table.stop] for table in parser.tables]
        tables = [
            [[" ".join("".join(cell).split()) for cell in row.cells] for row in table.rows if self._counts(row)]
            for table in parser.tables
        ]
        return [rows for rows in tables if rows]

    def _counts(self, row: "_Row") -> bool:
        return bool(row.cells) and (self.include_header or not row.is_header)


@dataclass
class _Row:
    cells: list[list[str]] = field(default_factory=list[list[str]])
    is_header: bool = False


@dataclass
class _Table:
    start: int
    stop: int = -1
    rows: list[_Row] = field(default_factory=list[_Row])
    is_in_cell: bool = False


_HIDDEN: Final = frozenset({"script", "style"})


class _Tables(HTMLParser):
    """Collects tables, in the order in which they start; tags that are not closed end with their table."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._text = text
        self._open: list[_Table] = []
        self._hidden = ""
        self.tables: list[_Table] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "table":
            self._open.append(_Table(self._place()))
            self.tables.append(self._open[-1])
        elif tag in _HIDDEN:
            self._hidden = tag
        elif self._open:
            self._start_part(self._open[-1], tag)

    def _start_part(self, table: _Table, tag: str) -> None:
        if tag == "tr":
            table.rows.append(_Row())
            table.is_in_cell = False
        elif tag in {"td", "th"}:
            row = table.rows[-1] if table.rows else _Row()
            table.rows = table.rows or [row]
            row.cells.append([])
            row.is_header = row.is_header or tag == "th"
            table.is_in_cell = True
        elif tag in {"br", "p", "li", "div"}:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""
        if not self._open:
            return
        if tag == "table":
            end = self._text.find(">", self._place())
            self._open.pop().stop = len(self._text) if end < 0 else end + 1
        elif tag in {"td", "th", "tr"}:
            self._open[-1].is_in_cell = False

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1].is_in_cell and not self._hidden:
            self._open[-1].rows[-1].cells[-1].append(data)

    def finish(self) -> None:
        """End tables that are not closed."""
        for table in self._open:
            table.stop = len(self._text)

    def _place(self) -> int:
        """The position of the current tag in the text."""
        line, column = self.getpos()
        return self._line_starts[line - 1] + column
