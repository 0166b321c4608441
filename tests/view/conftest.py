"""Servers with datasets, and a browser that looks at them."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import view_data
from view_data import PATIENCE_MS, Served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """10,000 samples. Read-only and shared."""
    path = tmp_path_factory.mktemp("view") / "train.jinx"
    return path, view_data.write(path, 10_000)


@pytest.fixture(scope="session")
def served(dataset: tuple[Path, list[dict[str, Any]]]) -> Iterator[Served]:
    import jinx
    from jinx._viewer.app import Viewer
    from jinx._viewer.server import ViewServer
    from jinx._viewer.shown import ShownDataset

    path, samples = dataset
    server = ViewServer(Viewer([ShownDataset(jinx.open(path), str(path))], {}))
    thread = server.start()
    yield Served(server.url, path, samples)
    server.stop()
    thread.join(60)


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Samples of all kinds, their packing plan and tokens; and a quarantine, which is the second dataset."""
    import jinx
    from chat import write_tokenizer
    from jinx._annotate.tokenizer import TextTokenizer
    from jinx._viewer.app import Viewer
    from jinx._viewer.packs import ShownPlan, tokens_by
    from jinx._viewer.server import ViewServer
    from jinx._viewer.shown import ShownDataset

    folder = tmp_path_factory.mktemp("mixed")
    path, quarantine, plan = folder / "mixed.jinx", folder / "quarantine.jsonl", folder / "plan.jinx"
    samples = view_data.write_mixed(path)
    bad = [{"source": str(path), "row": row, "operator": "image_filter", "error": f"bad {row}"} for row in (7, 21)]
    quarantine.write_text("".join(json.dumps(row) + "\n" for row in bad))
    ds = jinx.open(path)
    jinx.pack(ds, 2048).save(plan)
    shown = [ShownDataset(ds, str(path)), ShownDataset(jinx.open(quarantine), str(quarantine))]
    tokens = tokens_by(TextTokenizer(str(write_tokenizer(folder / "tokenizer"))))
    server = ViewServer(Viewer(shown, {}, plan=ShownPlan(str(plan), ds), tokens=tokens))
    thread = server.start()
    yield Served(server.url, path, samples)
    server.stop()
    thread.join(60)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The distribution's Chromium, driven by Playwright; nothing is downloaded."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium; install it with the system's packages (apt-get install chromium)")
    with playwright.sync_playwright() as running:
        # A test may run as root, where Chromium has no sandbox.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
        chromium = running.chromium.launch(executable_path=found, args=arguments, timeout=PATIENCE_MS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page in which nothing may fail: no script error, and no request to another server."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    shown = context.new_page()
    problems: list[str] = []
    shown.on("pageerror", lambda error: problems.append(f"script: {error}"))
    shown.on("request", lambda request: _note_foreign(request.url, problems))
    # The browser names also what the page's policy then stops before it leaves.
    shown.on("requestfailed", lambda request: _forget_stopped(request, problems))
    yield shown
    context.close()
    assert not problems


def _forget_stopped(request: Any, problems: list[str]) -> None:
    if request.failure == "csp":
        problems.remove(f"request: {request.url}")


def _note_foreign(url: str, problems: list[str]) -> None:
    if not url.startswith(("http://127.0.0.1:", "blob:")):
        problems.append(f"request: {url}")
