"""The screens of single samples, clusters, packs and quarantines in Chromium; a link opens the same screen."""

from typing import Any

import jinx
from view_data import Served, until


def open_sample(page: Any, served: Served, sample: int, query: str = "") -> None:
    page.goto(f"{served.url}?sample={sample}{query}")
    page.wait_for_selector(".sample-content, .beside, pre.raw")


def test_samples_of_a_cluster_stand_side_by_side(page: Any, mixed: Served) -> None:
    open_sample(page, mixed, 12)
    page.get_by_role("button", name="Samples with this cluster, side by side").click()
    page.wait_for_selector(".beside-table")
    heads = page.locator(".beside-table thead th").all_inner_texts()
    assert heads == ["This sample, 12", "Sample 10", "Sample 11", "Sample 13", "Sample 14"]
    assert "tab=beside" in page.url
    assert "beside=cluster" in page.url
    # Texts show which of their words the present sample has not.
    marked = page.locator(".beside-table tr", has_text="before").locator("ins").all_inner_texts()
    assert marked
    # A link opens the same screen.
    again = page.context.new_page()
    again.goto(page.url)
    again.wait_for_selector(".beside-table")
    assert again.locator(".beside-table thead th").all_inner_texts() == heads
    again.close()
    page.get_by_role("button", name="Show all 5").click()
    until(page, "() => document.querySelector('#status .total strong')?.textContent === '5'")
    assert page.locator("#where").input_value() == "cluster == 2"
    page.go_back()
    page.wait_for_selector(".beside-table")
    page.get_by_label("Column whose value is shared").select_option("kind")
    page.wait_for_selector(".beside-head :text('kind = image')")
    page.locator(".beside-table").get_by_role("button", name="Sample 4", exact=True).click()
    until(page, "() => document.querySelector('.sample-head .id').textContent === '4'")
    page.wait_for_selector(".conversation")


def test_a_text_before_and_after_shows_its_words(page: Any, mixed: Served) -> None:
    open_sample(page, mixed, 3)
    sample = mixed.samples[3]
    sides = page.locator(".difference .side")
    assert sides.all_inner_texts() == [sample["before"], sample["after"]]
    removed = "".join(sides.nth(0).locator("del").all_inner_texts()).split()
    added = "".join(sides.nth(1).locator("ins").all_inner_texts()).split()
    assert len(removed) == 2
    assert added == ["added"]


def test_sound_and_video_play_where_their_placeholders_stand(page: Any, mixed: Served) -> None:
    for sample, kind in ((1, "audio"), (2, "video")):
        open_sample(page, mixed, sample)
        until(page, f"() => document.querySelector('.bubble.user .inline-media.{kind} {kind}')?.readyState >= 1")
        seconds = page.evaluate(f"() => document.querySelector('{kind}').duration")
        assert abs(seconds - (1.5 if kind == "audio" else 1.6)) < 0.1
        page.evaluate(f"() => {{ const player = document.querySelector('{kind}'); player.currentTime = 1; }}")
        until(page, f"() => document.querySelector('{kind}').currentTime >= 1")


def test_the_tokens_of_a_sample(page: Any, mixed: Served) -> None:
    open_sample(page, mixed, 3, "&tab=tokens")
    page.wait_for_selector(".token")
    said = [message["content"] for message in mixed.samples[3]["messages"]]
    pieces = page.locator(".token").all_text_contents()
    assert len(pieces) == sum(len(text.split()) for text in said)
    assert page.locator(".tokens p").all_text_contents() == said
    assert page.locator(".block h3 .none").inner_text() == f"{len(pieces)} tokens"


def test_packs_are_rows_of_segments(page: Any, mixed: Served) -> None:
    plan = jinx.PackPlan.load(mixed.path.parent / "plan.jinx")
    page.goto(f"{mixed.url}?layout=packs")
    page.wait_for_selector(".pack .segment-of")
    assert page.locator("#status strong").inner_text() == str(len(plan))
    segments = page.locator(".pack").first.locator(".segment-of")
    tokens = [mixed.samples[i]["num_tokens"] for i in plan[0].tolist()]
    titles = [f"Sample {i}: {tokens} tokens" for i, tokens in zip(plan[0].tolist(), tokens, strict=True)]
    assert segments.evaluate_all("all => all.map(one => one.title)") == titles
    track, *widths = segments.evaluate_all(
        "all => [all[0].parentElement, ...all].map(one => one.getBoundingClientRect().width)"
    )
    assert all(abs(width - track * n / 2048) < 2 for width, n in zip(widths, tokens, strict=True))
    segments.nth(1).click()
    until(page, "n => document.querySelector('.sample-head .id')?.textContent === String(n)", int(plan[0][1]))
    page.go_back()
    page.wait_for_selector("#sample", state="hidden")
    page.set_viewport_size({"width": 1000, "height": 320})
    page.locator("#list").evaluate("list => list.scrollTo(0, 44 * 8)")
    until(page, "() => location.search.includes('at=')")
    at = page.evaluate("() => new URLSearchParams(location.search).get('at')")
    page.reload()
    until(page, "n => document.querySelector('#list').scrollTop === 44 * n", int(at))


def test_a_row_of_a_quarantine_leads_to_its_sample(page: Any, mixed: Served) -> None:
    page.goto(f"{mixed.url}?d=1")
    page.wait_for_selector(".row[data-index='1']")
    assert page.locator(".row[data-index='1']").inner_text().split()[-4:] == ["21", "image_filter", "bad", "21"]
    page.locator(".row[data-index='1'] .cell").first.click()
    page.get_by_role("button", name="Open row 21 of mixed.jinx").click()
    until(page, "() => document.querySelector('.sample-head .id')?.textContent === '21'")
    page.wait_for_selector(".conversation")
    assert page.locator(".fields").get_by_text("m21", exact=True).count() == 1


def test_moving_keeps_the_open_tab(page: Any, mixed: Served) -> None:
    page.goto(mixed.url)
    page.wait_for_selector(".card .id")
    page.locator(".card").first.click()
    page.get_by_role("tab", name="Stored line").click()
    page.keyboard.press("j")
    until(page, "() => document.querySelector('pre.raw')?.textContent.startsWith('{\"id\":\"m1\"')")
    assert "tab=raw" in page.url
