"""The benchmark of copies, views, columns and filters: it measures every target, and its page says what was missed."""

import json

import pytest

from bench.views import columns, copying
from bench.views.page import TARGETS, page
from bench.views.rounds import alternate


@pytest.fixture(scope="module")
def results(repository):
    return json.loads((repository / "docs" / "benchmarks" / "views.json").read_text("utf-8"))


def test_the_page_is_made_of_the_figures(repository, results):
    assert (repository / "docs" / "benchmarks" / "views.md").read_text("utf-8") == page(results)


def test_the_page_says_what_was_not_reached(results):
    slow = [
        {**one, "wall": one["wall"] * 1000, "cpu": one["cpu"] * 1000, "bytes": one.get("bytes", 0) * 1000}
        if one["contestant"] == "jinx"
        else one
        for one in results["records"]
    ]
    text = page({**results, "records": slow})
    assert text.count("| no |") == len(TARGETS)


def test_what_could_not_be_measured_is_named(results):
    missing = [one for one in results["records"] if one["contestant"] != "cp"]
    failed = [{**one, "failed": "not installed: x|y"} for one in missing if one["contestant"] == "pyarrow, Parquet"]
    others = [one for one in missing if one["contestant"] != "pyarrow, Parquet"]
    text = page({**results, "records": others + failed})
    assert text.count("| not measured |") == 3
    assert "not installed: x/y" in text


def test_copies_and_touches_are_measured(tmp_path):
    records = copying.run(tmp_path, 10, 50, rounds=1) + columns.touching(tmp_path, rounds=1)
    columns.write_many(tmp_path / "many.jinx", 100)
    records += columns.opening(tmp_path, rounds=1)
    found = {record["case"] for record in records if record["contestant"] == "jinx"}
    assert found == {
        *(copying.IN_ORDER, copying.SHUFFLED, copying.ROWS),
        *columns.TOUCHES,
        *(columns.OPEN, columns.PICKLE),
    }
    assert all(record["wall"] > 0 and record["count"] for record in records)


def test_contestants_must_agree():
    with pytest.raises(ValueError, match="the results differ"):
        alternate("case", {"one": lambda: 1, "other": lambda: 2}, count=1, rounds=1, check=True)
