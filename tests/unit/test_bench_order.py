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


def test_rows_are_compared_with_the_least_work_that_was_measured(results):
    rows = results["samples"]["rows"]
    measured = {"case": "sort rows", "round": 0, "data": 1, "bound": 1, "wall": 1.0, "size": 1, "read": 1, "written": 1}
    floor = {**measured, "contestant": "floor", "cpu": rows * 250e-9}
    ours = {**measured, "contestant": "jinx", "cpu": rows * 500e-9, "wall": 1.5}
    other = [one for one in results["records"] if one["case"] != "sort rows"]
    text = page({**results, "records": [*other, floor, ours]})
    assert "| sort rows | floor | 500 | 250 | 2.00x | 1.50x | no, nor by the least |" in text
    fast = page({**results, "records": [*other, floor, {**ours, "cpu": rows * 150e-9}]})
    assert "| sort rows | floor | 150 | 250 | 0.60x | 1.50x | yes |" in fast
    assert "## The least" not in page({**results, "records": other})


def test_what_was_not_measured_is_named(results):
    fewer = [one for one in results["records"] if one["contestant"] != "duckdb"]
    assert "not measured" in page({**results, "records": fewer})
