"""The screens of `docs/how-to/view.md`; `JINX_PICTURES=1` writes them again."""

import os
from pathlib import Path
from typing import Any

from view_data import Served, until


def test_the_screens_of_the_documentation(browser: Any, served: Served, tmp_path: Path, repository: Path) -> None:
    folder = repository / "docs" / "pictures" if os.environ.get("JINX_PICTURES") else tmp_path
    context = browser.new_context(viewport={"width": 1400, "height": 860}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{served.url}?brush=%7B%22score%22%3A%7B%22range%22%3A%5B0.3%2Cnull%5D%7D%7D&find=boat")
    until(page, "() => document.querySelectorAll('.picture.loaded').length >= 15")
    until(page, "() => document.querySelectorAll('.chart').length >= 4 && !document.querySelector('.searching')")
    page.screenshot(path=folder / "view-grid.png")
    page.goto(f"{served.url}?sample=14")
    until(page, "() => document.querySelectorAll('.picture.loaded').length >= 1")
    page.screenshot(path=folder / "view-sample.png", clip={"x": 0, "y": 0, "width": 1400, "height": 560})
    context.close()
    for name in ("view-grid.png", "view-sample.png"):
        assert (folder / name).stat().st_size > 10_000
        assert (repository / "docs" / "pictures" / name).exists()
