"""The report of a run on pages of several widths, in Chromium."""

from typing import Any

import pytest

from jinx_pipeline.report.graph_picture import Arrow, Box, Picture
from jinx_pipeline.report.graph_svg import drawing
from jinx_pipeline.report.page import document, table
from jinx_pipeline.report.tags import bars, cloud

# A source whose rows go to many outputs, so that the picture is wider than a page.
OUTPUTS = [f"o{n}" for n in range(9)]
WIDE = Picture(
    (Box("s", "source", ("source.jinx",)), *(Box(key, "sink", (f"an-output-{key}.jinx",)) for key in OUTPUTS)),
    tuple(Arrow("s", key) for key in OUTPUTS),
)
PATH = "a/directory/with/quite/a/long/name/and_an_output_in_it.jinx"
TAGS = [("often", 500), *((f"value-{n}", 100 - n) for n in range(40)), *((f"rare-{n}", 1) for n in range(19))]


@pytest.fixture
def report() -> str:
    """The HTML of a report."""
    parts = [
        f'<div class="card picture">{drawing(WIDE)}</div>',
        table(["", "samples", "size"], [[PATH, "1,234", "5.6 MB"]]),
        f'<div class="grid"><div class="card">{bars(TAGS)}{cloud(TAGS)}</div></div>',
    ]
    return document("a run", parts)


@pytest.mark.parametrize("width", [390, 1400])
def test_a_page_shows_where_a_graph_begins_and_what_a_table_counts(page: Any, report: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.set_content(report)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("scrollY") == 0
    for text in ("source.jinx", "1,234"):
        box = page.get_by_text(text, exact=True).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    sizes = page.evaluate(
        "[...document.querySelectorAll('.grid text')].map(text => parseFloat(getComputedStyle(text).fontSize)"
        " * text.ownerSVGElement.getBoundingClientRect().width / text.ownerSVGElement.viewBox.baseVal.width)"
    )
    assert min(sizes) >= 10
    assert page.get_by_text("value-39", exact=True).count() == 1
    assert page.get_by_text("rare-3", exact=True).count() == 0
