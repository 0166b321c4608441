"""Extracts plain text from HTML: the operator `clean_html_mapper`."""

from html.parser import HTMLParser

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register


@register("clean_html_mapper", modality="text")
class CleanHtmlMapper(TextMapper):
    r"""Converts HTML to plain text.

    Tags, scripts, styles and comments are removed, entities become characters, and a list item becomes a line that
    starts with `*`. A `<` that does not start a tag stays.

        create("clean_html_mapper")([{"text": "<ul><li>a &amp; b</li></ul>"}])  # [{"text": "\n*a & b"}]
    """

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return [_plain(text) if "<" in text or "&" in text else None for text in texts.to_pylist()]


_HIDDEN = frozenset({"script", "style", "template"})


class _Text(HTMLParser):
    """Collects the text of a document."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if not self._hidden and tag in _HIDDEN:
            self._hidden = tag
        if tag == "li":
            self.parts.append("\n*")
        elif tag == "br":
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def _plain(text: str) -> str:
    parser = _Text()
    parser.feed(text)
    parser.close()
    return "".join(parser.parts)
