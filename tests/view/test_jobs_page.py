"""The page of jobs of `jinx-pipeline serve`, in Chromium: all that it shows comes without a reload."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service_client import LONG, TOKEN, Client, made_roots, recipe
from view_data import PATIENCE_MS, until

pytest.importorskip("jinx_pipeline")
pytest.importorskip("msgspec", reason="the extra `service`")

# A job that runs until it is let go, however slowly the page follows.
HELD = """
import pathlib
import time


def process_single(sample):
    while not pathlib.Path({gate!r}).exists():
        time.sleep(0.02)
    return sample
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Any]:
    from jinx_pipeline.service.jobs import JobLimits
    from jinx_pipeline.service.server import Server
    from jinx_pipeline.service.workplace import Workplace

    data, results = made_roots(tmp_path)
    (data / "held.py").write_text(HELD.format(gate=str(tmp_path / "go")))
    limits, allow = JobLimits(workers=1), ("python_file_mapper",)
    place = Workplace.open(tmp_path / "state", {"data": data}, {"results": results}, limits=limits, allow=allow)
    server = Server(place, TOKEN)
    thread = server.start()
    yield server
    server.stop()
    thread.join(60)


# The graph stands in the middle of its frame.
CENTERED = """() => {
  const [graph, frame] = ["graph", "graph-frame"].map((id) => document.getElementById(id).getBoundingClientRect());
  return Math.abs(graph.left + graph.right - frame.left - frame.right) < 4;
}"""


@pytest.mark.timeout(240)
def test_a_job_is_followed_without_a_reload(page: Any, service: Any, tmp_path: Path) -> None:
    client = Client(service.url)
    page.goto(service.page)
    page.get_by_text("No job yet").wait_for()
    page.evaluate("window.same = true")
    held, gate = {"python_file_mapper": {"file_path": "data/held.py"}}, tmp_path / "go"
    job = client.start(recipe("good.jinx", held, LONG))
    page.locator("#jobs button", has_text="results/good.jinx").click()
    until(page, "() => document.querySelector('#state').textContent === 'running'", seconds=120)
    until(page, "() => /\\d+ % · .* of 300 samples/.test(document.querySelector('#facts').textContent)", seconds=120)
    until(page, "() => document.querySelector('#graph').naturalWidth > 100")
    until(page, CENTERED)
    page.get_by_role("log").get_by_text("started").wait_for()
    assert page.get_by_role("button", name="Cancel").is_visible()
    gate.touch()
    ended = client.ended(job)
    until(page, "() => document.querySelector('#state').textContent === 'succeeded'")
    kept = ended["result"]["rows_out"]
    assert f"{kept} of 300 samples kept" in page.locator("#facts").inner_text()
    report = page.frame_locator("#report")
    report.get_by_text("samples written").wait_for()
    report.get_by_label("The graph of the recipe").wait_for()
    assert not page.locator("#graph").is_visible()
    assert "/tmp" not in report.locator("body").inner_text()
    listed = page.get_by_role("link", name="results/good.jinx")
    listed.wait_for()
    opened = page.get_by_role("link", name="Open in the viewer")
    assert opened.get_attribute("href") == listed.get_attribute("href")
    page.get_by_role("log").filter(has_text=f"{kept} of 300 samples, ").wait_for()
    assert page.get_by_role("button", name="Cancel").count() == 0
    # A job that fails says why, and one that is cancelled ends.
    (tmp_path / "results" / "taken.jinx").write_text("in the way")
    page.locator("#jobs button").first.focus()
    failing = client.plan(recipe("taken2.jinx", LONG))
    (tmp_path / "results" / "taken2.jinx").write_text("in the way")
    client.ended(client.ask("POST", "/jobs", {"plan": failing})[1]["id"])
    page.locator("#jobs button", has_text="results/taken2.jinx").click()
    page.locator("#job-error:not([hidden])", has_text="results/taken2.jinx").wait_for()
    gate.unlink()
    client.start(recipe("never.jinx", held))
    page.locator("#jobs button", has_text="results/never.jinx").click()
    page.get_by_role("button", name="Cancel").click()
    until(page, "() => document.querySelector('#state').textContent === 'cancelled'", seconds=120)
    assert page.evaluate("window.same")
    # The dataset opens in the viewer.
    with page.expect_navigation():
        page.get_by_role("link", name="results/good.jinx").click()
    until(page, "n => document.querySelector('#status .total strong')?.textContent === String(n)", kept)


@pytest.mark.timeout(180)
def test_a_job_is_cancelled_that_was_chosen_after_another(page: Any, service: Any, tmp_path: Path) -> None:
    client = Client(service.url)
    held = {"python_file_mapper": {"file_path": "data/held.py"}}
    jobs = [client.start(recipe(f"{name}.jinx", held)) for name in ("first", "second")]
    page.goto(service.page)
    for name in ("first", "second"):
        page.locator("#jobs button", has_text=f"results/{name}.jinx").click()
        page.locator("#title", has_text=f"results/{name}.jinx").wait_for()
        page.get_by_role("button", name="Cancel").wait_for()
    page.get_by_role("button", name="Cancel").click()
    assert client.ended(jobs[1])["state"] == "cancelled"
    (tmp_path / "go").touch()
    assert client.ended(jobs[0])["state"] == "succeeded"


@pytest.mark.timeout(180)
def test_a_phone_shows_a_graph_no_larger_than_it_is(browser: Any, service: Any) -> None:
    client = Client(service.url)
    job = client.start(recipe("good.jinx", LONG))
    client.ended(job)
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{service.page}#{job}")
    graph = page.frame_locator("#report").locator("svg.graph")
    graph.wait_for()
    assert graph.bounding_box()["width"] <= int(graph.get_attribute("width"))
    page.close()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_of_jobs_is_accessible(browser: Any, service: Any, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    client = Client(service.url)
    job = client.start(recipe("good.jinx", LONG))
    client.ended(job)
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{service.page}#{job}")
    page.locator("#report-part:not([hidden])").wait_for()
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "iframes": False}
    found = axe.Axe().run(page, options=options)
    assert found.violations_count == 0, found.generate_report()
    context.close()
