"""The page in Chromium: each interaction, compared with plain lists."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from view_data import PATIENCE_MS, Served, until

# All charts are there, no answer is on its way, and nothing moves.
SETTLED = """() => document.querySelector('.chart')
  && !document.querySelector('.stale, .charts.waiting, .searching')
  && document.getAnimations().every(one => one.effect.getComputedTiming().iterations === Infinity)"""


def wait_for_total(page: Any, number: int) -> None:
    until(
        page,
        "n => document.querySelector('#status .total strong')?.textContent.replaceAll(',', '') === String(n)"
        " && !document.querySelector('.searching')",
        number,
    )


def count(served: Served, keep: Callable[[dict[str, Any]], bool]) -> int:
    return sum(map(keep, served.samples))


def first_ids(page: Any, many: int = 6) -> list[int]:
    """The numbers of the first cards that are visible."""
    page.wait_for_selector(".card .id")
    cards = page.locator(".card:not([hidden])").evaluate_all(
        "cards => cards.filter(c => c.querySelector('.id'))"
        ".map(c => [Number(c.dataset.index), c.querySelector('.id').textContent])"
    )
    return [int(text.removeprefix("#")) for _, text in sorted(cards)][:many]


def open_page(page: Any, served: Served, query: str = "") -> None:
    page.goto(served.url + query)
    page.wait_for_selector(".card .id, .row .id, .empty, .sample-content, .beside-table")


def test_the_grid_shows_pictures_and_reaches_the_end(page: Any, served: Served) -> None:
    open_page(page, served)
    wait_for_total(page, 10_000)
    until(page, "() => document.querySelectorAll('.picture.loaded').length >= 12")
    assert first_ids(page) == list(range(6))
    assert page.locator(".card").count() <= 60
    page.locator("#list").focus()
    page.keyboard.press("End")
    until(page, "() => [...document.querySelectorAll('.card .id')].some(e => e.textContent === '#9999')")
    assert page.locator(".card").count() <= 60
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -3000)
    until(page, "() => ![...document.querySelectorAll('.card:not([hidden]) .id')].some(e => e.textContent === '#9999')")


@pytest.mark.parametrize("query", ["", "?layout=table"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_scrolling_moves_what_is_painted(page: Any, served: Served, query: str, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    open_page(page, served, query)
    # Browsers paint every frame of a scrolled element again if what is under it shows through.
    color = page.evaluate("() => getComputedStyle(document.getElementById('list')).backgroundColor")
    assert re.fullmatch(r"rgb\(\d+, \d+, \d+\)", color), color


def test_filters_of_every_kind(page: Any, served: Served) -> None:
    open_page(page, served)
    page.fill("#where", "score > 0.5")
    page.keyboard.press("Enter")
    wait_for_total(page, count(served, lambda s: s["score"] > 0.5))
    page.fill("#find", "boat")
    wait_for_total(page, count(served, lambda s: s["score"] > 0.5 and "boat" in s["caption"]))
    page.get_by_role("button", name=re.compile("^coyo")).click()
    keep = lambda s: s["score"] > 0.5 and "boat" in s["caption"] and s["source"] == "coyo"  # noqa: E731
    wait_for_total(page, count(served, keep))
    page.select_option("#tools select", "-score")
    numbers = [i for i, s in enumerate(served.samples) if keep(s)]
    best = sorted(numbers, key=lambda i: -served.samples[i]["score"])
    until(page, "n => document.querySelector('.card[data-index=\"0\"] .id')?.textContent === `#${n}`", best[0])
    assert first_ids(page) == best[:6]
    # The address holds it all.
    again = page.context.new_page()
    again.goto(page.url)
    wait_for_total(again, len(numbers))
    until(again, "n => document.querySelector('.card[data-index=\"0\"] .id')?.textContent === `#${n}`", best[0])
    assert again.locator("#where").input_value() == "score > 0.5"
    again.close()
    page.get_by_role("button", name="Clear all").click()
    wait_for_total(page, 10_000)


def test_brushing_a_histogram_filters(page: Any, served: Served) -> None:
    open_page(page, served)
    until(page, SETTLED)
    chart = page.get_by_role("region", name="score", exact=True).locator("canvas")
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 30, steps=4)
    page.mouse.up()
    page.wait_for_selector(".chip")
    chosen = re.match(r"score ≥ ([\d.]+) and < ([\d.]+)", page.locator(".chip").inner_text())
    assert chosen
    low, high = map(float, chosen.groups())
    wait_for_total(page, count(served, lambda s: low <= s["score"] < high))
    # The same by keyboard.
    page.get_by_label("score, at least").fill("0.25")
    page.get_by_label("score, less than").fill("")
    page.keyboard.press("Tab")
    wait_for_total(page, count(served, lambda s: s["score"] >= 0.25))
    page.locator(".chip").click()
    wait_for_total(page, 10_000)


def test_answers_do_not_replace_a_limit_being_typed(page: Any, served: Served) -> None:
    open_page(page, served)
    page.get_by_label("score, at least").fill("0.25")
    held: list[Any] = []
    page.route("**/charts?*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright sets attributes of it
    with page.expect_request("**/charts?*"):
        page.get_by_label("score, less than").fill("0.5")
    while not held:
        page.wait_for_timeout(10)
    with page.expect_response("**/charts?*"):
        held.pop().continue_()
    page.unroute("**/charts?*")
    until(page, "() => !document.querySelector('.charts.stale')")
    assert page.get_by_label("score, less than").input_value() == "0.5"
    page.keyboard.press("Tab")
    wait_for_total(page, count(served, lambda s: 0.25 <= s["score"] < 0.5))


def test_a_sample_is_a_conversation_with_its_picture(page: Any, served: Served) -> None:
    open_page(page, served)
    page.locator(".card").first.click()
    page.wait_for_selector(".bubble.user .inline-media.image .picture.loaded")
    sample = served.samples[0]
    assert page.locator(".bubble.assistant").inner_text().endswith(sample["messages"][1]["content"])
    assert sample["caption"] in page.locator(".fields").inner_text()
    page.keyboard.press("j")
    until(page, "() => document.querySelector('.sample-head .id').textContent === '1'")
    assert "sample=1" in page.url
    page.get_by_role("tab", name="Stored line").click()
    until(page, "() => document.querySelector('pre.raw')?.textContent.startsWith('{\"id\":\"s0000001\"')")
    page.keyboard.press("Escape")
    page.wait_for_selector("#sample", state="hidden")
    assert "sample=" not in page.url
    page.go_back()


def test_keys_alone_are_enough(page: Any, served: Served) -> None:
    open_page(page, served)
    page.keyboard.press("/")
    page.keyboard.type("lamp")
    wait_for_total(page, count(served, lambda s: "lamp" in s["caption"]))
    page.keyboard.press("Escape")
    lamps = [i for i, s in enumerate(served.samples) if "lamp" in s["caption"]]
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    until(page, "n => document.querySelector('.sample-head .id')?.textContent === n", f"{lamps[2]:,}")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.wait_for_selector(".list.table .row .id")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] kbd")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.keyboard.type("width == 640")
    page.keyboard.press("Enter")
    wait_for_total(page, count(served, lambda s: "lamp" in s["caption"] and s["width"] == 640))


def test_the_table_sorts_by_its_heads(page: Any, served: Served) -> None:
    open_page(page, served, "?layout=table")
    page.wait_for_selector(".row[data-index='0'] .id")
    page.get_by_role("button", name="score", exact=True).click()
    lowest = min(range(10_000), key=lambda i: served.samples[i]["score"])
    until(page, "n => document.querySelector(\".row[data-index='0'] .id\")?.textContent === String(n)", lowest)
    assert page.locator("[role=columnheader][aria-sort=ascending]").inner_text() == "score"


def test_errors_are_said(page: Any, served: Served) -> None:
    open_page(page, served)
    page.fill("#where", "scor > 0.5")
    page.keyboard.press("Enter")
    page.wait_for_selector("#problem:not([hidden])")
    assert "did you mean" in page.locator("#problem").inner_text()
    page.fill("#where", "score > 2")
    page.keyboard.press("Enter")
    page.wait_for_selector(".empty")
    assert page.locator(".empty h3").inner_text() == "No sample matches"
    assert page.locator("#problem").is_hidden()


def test_the_head_of_a_table_without_samples_is_readable(page: Any, served: Served) -> None:
    page.goto(served.url + "?layout=table&where=scor+%3E+1")
    page.wait_for_selector("#problem:not([hidden])")
    assert "no column 'scor'" in page.locator("#problem").inner_text()
    lefts = page.locator(".table-head .cell").evaluate_all("cells => cells.map(c => c.getBoundingClientRect().left)")
    assert len(lefts) > 3
    assert all(right - left >= 80 for left, right in itertools.pairwise(lefts))


def test_an_address_with_numbers_that_are_none_shows_all(page: Any, served: Served) -> None:
    open_page(page, served, "?d=x&at=-5&sample=y&brush=%7Bbad&layout=none")
    wait_for_total(page, 10_000)
    assert first_ids(page) == list(range(6))
    assert page.locator("#problem").is_hidden()


def test_python_is_copied(page: Any, served: Served) -> None:
    open_page(page, served, "?where=score+%3E+0.5&sort=-score")
    page.get_by_role("button", name="Copy as Python").click()
    page.wait_for_selector("dialog pre")
    assert f"ds = jinx.open('{served.path}')" in page.locator("dialog pre").inner_text()
    assert "ds = ds.filter('score > 0.5')" in page.locator("dialog pre").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_is_accessible(browser: Any, served: Served, tmp_path: Path, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    # axe is put into the page, which the page's own policy would refuse.
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    for query in ("", "?layout=table", "?sample=3", "?sample=3&tab=beside&beside=source", "?where=score+%3E+2"):
        open_page(page, served, query)
        until(page, SETTLED)
        found = axe.Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
        assert found.violations_count == 0, f"{query}: {found.generate_report()}"
    context.close()
