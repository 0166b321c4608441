"""The benchmark of cold files measures every contestant, and its page says what was missed."""

import argparse

import pytest

from bench.cold.__main__ import measured
from bench.cold.contestants import ITERATE, LOADER, TAKE
from bench.cold.page import TARGETS, page
from bench.views.copying import write_media

SAMPLES = 70
ABOUT = {
    "time": "2026-01-01T00:00:00+00:00",
    "commit": "0",
    "command": "python -m bench.cold",
    "machine": {"cpu": "c", "cores": 2, "memory_gib": 1, "kernel": "k", "python": "3"},
    "load": 0.0,
    "versions": {"jinx": "0"},
    "seconds": 1,
    "samples": SAMPLES,
    "base": True,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_media(tmp_path_factory.mktemp("cold") / "media.jinx", SAMPLES)


@pytest.mark.parametrize(
    ("case", "contestant"),
    [
        (ITERATE, "dd"),
        *((case, "python") for case in (ITERATE, TAKE)),
        *((case, "jinx") for case in (ITERATE, TAKE, LOADER)),
    ],
)
def test_a_pass_reads_every_image(data, case, contestant):
    record = measured(case, contestant, data, argparse.Namespace(samples=SAMPLES, base=None), "cold")
    images = SAMPLES * 48_003
    assert record["bytes"] >= images if contestant == "dd" else record["bytes"] == images
    assert record["wall"] > 0


def records(seconds):
    names = {(target.case, target.state, name) for target in TARGETS for name in ("jinx", target.other)}
    return [
        {"case": case, "state": state, "contestant": name, "bytes": 10**9, "cpu": 1, "wall": seconds[name == "jinx"]}
        for case, state, name in sorted(names)
    ]


def test_the_page_compares_what_was_reached_with_the_targets():
    fast = page({**ABOUT, "records": records((3, 1))})
    assert fast.count("3.00x | yes |") == len(TARGETS)
    slow = page({**ABOUT, "records": records((1, 3))})
    assert slow.count("0.33x | no |") == len(TARGETS)
    alone = [one for one in records((3, 1)) if one["contestant"] != "base"]
    text = page({**ABOUT, "base": False, "records": alone})
    assert text.count("| not measured |") == len(TARGETS) - 1
