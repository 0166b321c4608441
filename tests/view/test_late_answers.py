"""The page of the viewer while the server is slow: what the user does meanwhile counts; what comes late does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from view_data import Served, until

SETTLED = """() => document.querySelector('.chart')
  && !document.querySelector('.stale, .charts.waiting, .searching')"""
SHOWN = ".card .id, .sample-content"


def open_page(page: Any, served: Served, query: str = "") -> None:
    page.goto(served.url + query)
    page.wait_for_selector(SHOWN)
    until(page, SETTLED)


@contextmanager
def late(page: Any, address: str) -> Iterator[None]:
    """Hold answers from an address; leaving lets the last one come, as the page gives up those before."""
    held: list[Any] = []
    page.route(address, lambda route: held.append(route))  # noqa: PLW0108 - Playwright sets attributes of it
    yield
    while not held:
        page.wait_for_timeout(10)
    with page.expect_response(address):
        held[-1].continue_()
    page.unroute(address)
    until(page, SETTLED)


def search(page: Any, word: str) -> None:
    """Search, without waiting for the charts."""
    with page.expect_request("**/charts?*"), page.expect_response("**/rows?*"):
        page.fill("#find", word)


def test_a_drag_over_a_histogram(page: Any, served: Served) -> None:
    open_page(page, served)
    box = page.get_by_role("region", name="score", exact=True).locator("canvas").bounding_box()
    with late(page, "**/charts?*"):
        search(page, "boat")
        page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 30)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 30, steps=4)
    page.mouse.up()
    page.locator(".chip", has_text="score ≥").wait_for()


def test_a_press_on_a_bar(page: Any, served: Served) -> None:
    open_page(page, served)
    box = page.locator(".bar", has_text="coyo").bounding_box()
    with late(page, "**/charts?*"):
        search(page, "boat")
        page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
        page.mouse.down()
    page.mouse.up()
    page.locator(".chip", has_text="source = coyo").wait_for()


def test_two_bars_that_are_pressed_one_after_the_other(page: Any, served: Served) -> None:
    open_page(page, served)
    with late(page, "**/charts?*"):
        page.locator(".bar", has_text="coyo").click()
        page.locator(".bar", has_text="docs").click()
        until(page, "() => document.querySelector('.chip')?.textContent === 'source = coyo or docs'")
    expected = sum(sample["source"] in {"coyo", "docs"} for sample in served.samples)
    until(page, "n => document.querySelector('#status .total strong').textContent === n", f"{expected:,}")


def test_a_filter_that_is_typed_after_a_word_to_search_for(page: Any, served: Served) -> None:
    open_page(page, served)
    page.fill("#find", "boat")
    page.locator("#where").press_sequentially("score >")
    boats = sum("boat" in sample["caption"] for sample in served.samples)
    until(page, "n => document.querySelector('#status .total strong').textContent === n", f"{boats:,}")
    assert page.locator("#where").input_value() == "score >"
    page.keyboard.type(" 0.5")
    page.keyboard.press("Enter")
    both = sum("boat" in sample["caption"] and sample["score"] > 0.5 for sample in served.samples)
    until(page, "n => document.querySelector('#status .total strong').textContent === n", f"{both:,}")


def test_a_filter_with_a_space_at_its_end_goes_with_its_step(page: Any, served: Served) -> None:
    open_page(page, served)
    page.fill("#where", "score > 0.5 ")
    page.keyboard.press("Enter")
    total = "n => document.querySelector('#status .total strong').textContent === n"
    until(page, total, f"{sum(sample['score'] > 0.5 for sample in served.samples):,}")
    page.go_back()
    until(page, total, "10,000")
    assert page.locator("#where").input_value() == ""


def test_a_sample_that_was_closed_stays_closed(page: Any, served: Served) -> None:
    open_page(page, served, "?sample=3")
    with late(page, "**/place?*"):
        with page.expect_request("**/place?*"):
            page.keyboard.press("j")
        page.keyboard.press("j")  # waits for the step before
        page.keyboard.press("Escape")
    assert page.locator("#sample").is_hidden()
    assert "sample=" not in page.url


def test_each_of_two_steps_counts(page: Any, served: Served) -> None:
    open_page(page, served, "?sample=3")
    with late(page, "**/place?*"):
        with page.expect_request("**/place?*"):
            page.keyboard.press("j")
        page.keyboard.press("j")
    until(page, "() => document.querySelector('.sample-head .id').textContent === '5'")
    page.get_by_text(served.samples[5]["id"], exact=True).wait_for()


def test_a_tab_that_is_opened_before_its_sample(page: Any, served: Served) -> None:
    open_page(page, served, "?sample=3")
    with late(page, "**/sample/4"):
        with page.expect_request("**/sample/4"):
            page.keyboard.press("j")
        page.get_by_role("tab", name="Stored line").click()
        assert page.locator("pre.raw").count() == 0
    until(page, "() => document.querySelector('pre.raw')?.textContent.startsWith('{\"id\":\"s0000004\"')")
