"""The page of the service's benchmark says which goals were met."""

from bench.service.page import page


def test_the_page_says_what_was_met() -> None:
    figures = {"requests/s": 612.0, "p50 ms": 9.0, "p99 ms": 61.0}
    reached = {"idle": figures, "with a job": figures, "first event ms": 140.0, "the job ran throughout": True}
    about = {"command": "x", "time": "now", "commit": "c", "seconds": 3, "load": 0.1, "versions": {}, "clients": 8}
    machine = {"cpu": "", "cores": 2, "memory_gib": 1, "kernel": "", "python": ""}
    text = page({**about, "machine": machine, "reached": reached})
    assert "| requests a second | >= 500 | 612 | 612 | yes |" in text
    assert "| 99th percentile | <= 50 ms | 61.0 ms | 61.0 ms | no |" in text
    assert "| first event of a job | <= 1 s |  | 140 ms | yes |" in text
    assert "not those of a busy machine" not in text
    ended = page({**about, "machine": machine, "reached": {**reached, "the job ran throughout": False}})
    assert "not those of a busy machine" in ended
