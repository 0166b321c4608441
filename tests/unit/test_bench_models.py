"""The page of bench.models, made of figures."""

import pytest

from bench.models.__main__ import page

ABOUT = {
    "command": "python -m bench.models",
    "time": "now",
    "commit": "0",
    "seconds": 1,
    "load": 0.0,
    "machine": {"cpu": "c", "cores": 2, "memory_gib": 1, "kernel": "6", "python": "3"},
    "versions": {"torch": "0"},
}
LOADS = ((0.05, 20_000, 5.0, 5.6), (0.5, 10_000, 25.0, 29.5))


def client(name, service, load, ideal, seconds):
    latency, count = load
    facts = {"client": name, "service": service, "latency": latency, "requests": count, "answered": count}
    return {**facts, "seconds": seconds, "ideal_seconds": ideal, "share_of_ideal": ideal / seconds, "cpu_ms": 0.3}


def loads():
    for latency, count, reliable, unreliable in LOADS:
        yield [
            client("aiohttp", "reliable", (latency, count), reliable, reliable),
            client("ours", "reliable", (latency, count), reliable, reliable * 1.02),
            client("ours", "unreliable", (latency, count), unreliable, unreliable * 1.02),
        ]


@pytest.fixture
def results():
    loop = {"count": 8, "difference": 1e-7, "ours_cpu_seconds": 1.0, "loop_cpu_seconds": 0.98, "about": ABOUT}
    theirs = {name: {"cpu_seconds": 2.0, "count": 8, "difference": 1e-7} for name in ("clip", "vit", "lm")}
    kills = {"requests": 2000, "answered_before_worker": 400, "answered_before_driver": 1000}
    kills |= {"asked_twice": 0, "different": 2000, "sent": 2040}
    return {
        **dict.fromkeys(("clip", "vit", "lm"), loop),
        "five": {"1_cpu_seconds": 1.0, "5_cpu_seconds": 1.05, "about": ABOUT},
        "llm": {"loads": list(loads()), "about": ABOUT},
        "kills": {**kills, "about": ABOUT},
        "theirs": {**theirs, "count": 8, "about": ABOUT},
        "ten": {"operators": [{"operator": "`a`", "samples": 1, "difference": 0.0, "reason": ""}], "about": ABOUT},
    }


def test_the_page_shows_each_target_beside_what_was_reached(results):
    lines = page(results).splitlines()
    for line in (
        "| CLIP ViT-B/32, `image_text_similarity_filter` | 8 | 0.98 | 1.00 | 0.98 | 0.95 | yes | 1e-07 |",
        "| GPT-2 (124 M), `llm_perplexity_filter` | 8 | 0.98 | 1.00 | 0.98 | 0.95 | yes | 1e-07 |",
        "| GPT-2 (124 M), `llm_perplexity_filter` | 2.00 | 1.00 | 2.0 | 2 | yes | 2.0 | 1e-07 |",
        "Five operators with one CLIP model (three similarities, embeddings, tags) take 1.05 times the time of one",
        "| 500 | ours | reliable | 10,000 of 10,000 | 25.50 | 0.98 | 0.95 | 0.30 | 1 | yes |",
        "| 500 | ideal | unreliable | 10,000 of 10,000 | 29.50 | 1.18 times the time: the floor | | | | |",
        "| 500 | ours | unreliable | 10,000 of 10,000 | 30.09 | 1.18 times the time | 1.2 | 0.30 | 1 | yes |",
        "fifth of the requests, with 400 answers kept, and the driver after half of them, with",
        "| `a` | 1 | 0e+00 |  |",
    ):
        assert line in lines, line


def test_a_part_that_was_not_measured_is_left_out(results):
    text = page({name: results[name] for name in ("llm", "kills")})
    assert "Data-Juicer" not in text
    assert "Killed runs" in text
