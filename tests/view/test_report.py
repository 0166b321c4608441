"""A report of `jinx-pipeline analyze` in the viewer: its bars and rows open their samples, in Chromium."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import jinx
from jinx._viewer.app import Viewer
from jinx._viewer.server import ViewServer
from jinx._viewer.shown import ShownDataset
from view_data import until


def test_a_bar_of_a_report_opens_its_samples(page: Any, tmp_path: Path) -> None:
    pytest.importorskip("jinx_pipeline")
    data, out, report = tmp_path / "a.jinx", tmp_path / "stats.jinx", tmp_path / "report.html"
    with jinx.Writer(data) as writer:
        for i in range(300):
            writer.write({"text": "word " * (1 + i % 40)})
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"dataset: {data}\nprocess:\n  - text_length_filter: {{min_len: 20}}\n")
    command = [sys.executable, "-m", "jinx_pipeline", "analyze", str(recipe), "--out", str(out)]
    subprocess.run([*command, "--report", str(report), "--workers", "1", "--progress", "none"], check=True, timeout=100)
    lengths = jinx.open(out).column("__dj__stats__.text_len").tolist()

    server = ViewServer(Viewer([ShownDataset(jinx.open(out), str(out))], {}, report=report.read_bytes()))
    thread = server.start()
    page.goto(server.url)
    with page.expect_navigation():
        page.get_by_role("link", name="Report").click()
    bars = page.get_by_role("group", name="Histogram of text_len").locator("a")
    titles = bars.locator("title").all_text_contents()
    shown = [int(title.rpartition(": ")[2]) for title in titles]
    # One percent at the ends is not drawn.
    assert 0.98 * len(lengths) <= sum(shown) <= len(lengths)
    for place in (0, len(shown) // 2, len(shown) - 1):
        page.goto(f"{server.url}report")
        with page.expect_navigation():
            bars.nth(place).click()
        until(page, "n => document.querySelector('#status .total strong')?.textContent === String(n)", shown[place])
        assert "text_len" in page.locator("#where").input_value()
    page.goto(f"{server.url}report")
    longest = page.locator(".end a").last
    row = int(re.sub(r"\D", "", longest.inner_text()))
    with page.expect_navigation():
        longest.click()
    until(page, "n => document.querySelector('.sample-head .id')?.textContent === String(n)", row)
    server.stop()
    thread.join(60)
