"""The page of the viewer's benchmark says what was reached and what was missed."""

from bench.view.page import TARGETS, page

ABOUT = {
    "time": "2026-01-01T00:00:00+00:00",
    "commit": "0",
    "command": "python -m bench.view",
    "machine": {"cpu": "c", "cores": 2, "memory_gib": 1, "kernel": "k", "python": "3"},
    "load": 0.0,
    "versions": {"jinx": "0"},
    "seconds": 1,
    "samples": 10_000_000,
    "shards": 200,
    "rounds": 3,
}


def test_a_page_judges_every_target():
    good = {key: bound * (2 if is_rate else 0.5) for _, key, _, bound, is_rate in TARGETS}
    text = page({**ABOUT, "reached": {**good, "memory": 180e6}})
    assert text.count("| yes |") == len(TARGETS)
    bad = {key: bound * (0.5 if is_rate else 2) for _, key, _, bound, is_rate in TARGETS}
    text = page({**ABOUT, "reached": {**bad, "memory": 180.1e6}})
    assert text.count("| no |") == len(TARGETS)
    assert "| brush over four linked charts | <= 150 ms | 300 ms | no |" in text
