"""The benchmark of shuffling and sorting on disk: its page is made of the figures and says what was missed."""

import json

import pytest

from bench.order.page import TARGETS, page


@pytest.fixture(scope="module")
def results(repository):
    return json.loads((repository / "docs" / "benchmarks" / "order.json").read_text("utf-8"))


def test_the_page_is_made_of_the_figures(repository, results):
    assert (repository / "docs" / "benchmarks" / "order.md").read_text("utf-8") == page(results)


def test_the_page_says_what_was_not_reached(results):
    slow = [{**one, "wall": one["wall"] * 1000} if one["contestant"] == "jinx" else one for one in results["records"]]
    targets = page({**results, "records": slow}).split("| case | bytes written")[0]
    assert targets.count("| no |") == len(TARGETS)


def test_what_was_not_measured_is_named(results):
    fewer = [one for one in results["records"] if one["contestant"] != "duckdb"]
    assert "not measured" in page({**results, "records": fewer})
