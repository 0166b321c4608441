"""The pictures of the documentation, made by what they show; `JINX_PICTURES=1` writes them again."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jinx
from jinx._dataset.identity import identity_of
from jinx._notes.form import Form
from jinx._notes.journal import Journal, Note
from jinx._viewer.app import Viewer
from jinx._viewer.server import ViewServer
from jinx._viewer.shown import ShownDataset
from view_data import PATIENCE_MS, Served, until

WIDE, PHONE = {"width": 1400, "height": 860}, {"width": 390, "height": 760}
PICTURES = "() => document.querySelectorAll('.picture.loaded').length >= {}"
CHARTS = "() => document.querySelectorAll('.chart').length >= 4 && !document.querySelector('.searching')"
# Until then, Chromium draws an arc over the video.
VIDEOS = "() => [...document.querySelectorAll('video')].every(one => one.readyState >= 2 && one.networkState === 1)"


@pytest.fixture
def keep(browser: Any, tmp_path: Path, repository: Path) -> Iterator[Callable[..., None]]:
    """Takes a picture of an address once conditions hold; the documentation must have one of this name."""
    folder = repository / "docs" / "pictures" if os.environ.get("JINX_PICTURES") else tmp_path
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()

    def take(name: str, url: str, *conditions: str, size: dict[str, int] = WIDE, height: int | None = None) -> None:
        page.set_viewport_size(size)
        page.goto(url)
        for condition in conditions:
            until(page, condition)
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"]}
        page.screenshot(path=folder / f"{name}.png", clip=clip)
        assert (folder / f"{name}.png").stat().st_size > 5_000
        assert (repository / "docs" / "pictures" / f"{name}.png").exists()

    yield take
    context.close()


def test_grid_sample_and_phone(keep: Callable[..., None], served: Served) -> None:
    brush = "?brush=%7B%22score%22%3A%7B%22range%22%3A%5B0.3%2Cnull%5D%7D%7D&find=boat"
    keep("view-grid", f"{served.url}{brush}", PICTURES.format(15), CHARTS)
    keep("view-sample", f"{served.url}?sample=14", PICTURES.format(1), height=560)
    keep("view-phone", served.url, PICTURES.format(4), "() => document.querySelector('.card .id')", size=PHONE)


def test_clusters_packs_and_tokens(keep: Callable[..., None], mixed: Served) -> None:
    beside = "?sample=15&tab=beside&beside=cluster&columns=before,after"
    keep("view-beside", f"{mixed.url}{beside}", "() => document.querySelector('.beside-table ins')", VIDEOS, height=700)
    many = "() => document.querySelectorAll('.segment-of').length > 30"
    keep("view-packs", f"{mixed.url}?layout=packs", many, CHARTS, height=560)
    keep("view-tokens", f"{mixed.url}?sample=3&tab=tokens", "() => document.querySelector('.token')", height=340)


def test_a_quarantine(keep: Callable[..., None], tmp_path: Path) -> None:
    bad = [
        {"source": "train.jinx", "row": row, "operator": "image_aspect_ratio_filter", "error": f"image.{row}: {error}"}
        for row, error in ((7, "not an image"), (21, "the file is truncated"), (64, "100 million pixels are too many"))
    ]
    path = tmp_path / "quarantine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in bad))
    server = ViewServer(Viewer([ShownDataset(jinx.open(path), str(path))], {}))
    thread = server.start()
    keep(
        "view-quarantine", server.url, "() => document.querySelector('.row .id')", CHARTS.replace("4", "1"), height=340
    )
    server.stop()
    thread.join(60)


@pytest.mark.parametrize("name", ["view-notes", "view-form"])
def test_notes_and_a_form(keep: Callable[..., None], served: Served, tmp_path: Path, name: str) -> None:
    ds = jinx.open(served.path)
    form = Form("choices", "Is the caption right?", ("right", "wrong", "unsure"), ("image", "caption"))
    notes = Journal(str(tmp_path / "anna.notes"), dataset=str(served.path), identity=identity_of(ds), by="anna")
    notes.set(3, Note(("bad",) if name == "view-notes" else ("wrong",), "The lamp is cut off."))
    shown = [ShownDataset(ds, str(served.path))]
    is_form = name == "view-form"
    viewer = Viewer(shown, {"columns": "image,caption"}, notes=notes, form=form) if is_form else Viewer(
        shown, {}, notes=notes, tags=["good", "bad", "unsure"]
    )  # fmt: skip
    server = ViewServer(viewer)
    thread = server.start()
    query = "" if is_form else "?sample=3"
    keep(name, f"{server.url}{query}", PICTURES.format(1), "() => document.querySelector('.notes')", height=480)
    server.stop()
    thread.join(60)
    notes.close()
