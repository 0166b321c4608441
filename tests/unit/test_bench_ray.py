"""The benchmark on Ray: its page judges every target, says what was missed, and the picture is drawn."""

import json
from xml.etree import ElementTree as ET

import pytest

from bench.ray.page import TARGETS, page, picture


@pytest.fixture(scope="module")
def results(repository):
    return json.loads((repository / "docs" / "benchmarks" / "ray.json").read_text("utf-8"))


def test_the_page_and_the_picture_are_made_of_the_figures(repository, results):
    folder = repository / "docs" / "benchmarks"
    assert (folder / "ray.md").read_text("utf-8") == page(results)
    assert (folder / "ray.svg").read_text("utf-8") == picture(results)
    assert ET.fromstring(picture(results)).tag.endswith("svg")


def test_what_failed_or_was_not_measured_is_no_target_met(results):
    names = {target.experiment for target in TARGETS}
    about = {"contestant": "jinx", "round": 0, "failed": "broken | here"}
    failed = [{"experiment": name, **about} for name in names]
    text = page({**results, "records": failed})
    assert text.count("| broken / here | no |") == len(TARGETS)
    nothing = page({**results, "records": []})
    assert nothing.count("| not measured | no |") == len(TARGETS)
    assert "svg" in picture({**results, "records": []})


def test_one_bad_round_misses_a_target(results):
    bad = [{**one, "lost": 7} for one in results["records"] if one["experiment"] == "nodes die"]
    text = page({**results, "records": [*results["records"], *bad]})
    assert "| nodes die | G1: rows lost or delivered twice | <= 0 | 7 | no |" in text
