"""Columns that some samples have, or none: after functions and aggregators only the run tells which there are."""

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.recipe.errors import RecipeError

ROWS = 60


@pytest.fixture
def data(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "text": f"text {n}", "k": n % 3} for n in range(ROWS))
    return tmp_path / "in.jinx"


def exported(data, steps, **options):
    result = jp.Dataset.load(data).process(steps).export(data.with_name("out.jinx"), **{"workers": 1, **options})
    assert not result.bad_rows
    return jinx.open(data.with_name("out.jinx")).to_list()


def mark_last(sample):
    if sample["n"] >= ROWS - 2:
        sample["rank"] = -sample["n"]
    return sample


@pytest.mark.parametrize("block_rows", [7, 60])
def test_a_sort_key_that_a_function_gives_to_some_samples(data, block_rows):
    found = exported(data, [mark_last, jp.create("sort", by="rank")], block_rows=block_rows)
    assert [item["n"] for item in found] == [59, 58, *range(58)]


@pytest.mark.parametrize("block_rows", [7, 60])
def test_a_filter_of_a_column_that_a_function_gives_to_some_samples(data, block_rows):
    keep = jp.create("specified_numeric_field_filter", field_key="rank", min_value=-1000, max_value=0)
    assert [sample["n"] for sample in exported(data, [mark_last, keep], block_rows=block_rows)] == [58, 59]


def test_a_sort_key_that_no_sample_has_after_a_function(data):
    found = exported(data, [lambda sample: sample, jp.create("sort", by=["rank", "-n"])])
    assert [item["n"] for item in found] == list(reversed(range(ROWS)))


def test_a_sort_key_that_an_aggregator_does_not_make_is_refused(data):
    group = jp.create("key_value_grouper", group_by_keys=["k"])
    total = jp.create("field_aggregator", columns={"n": "sum:n"})
    with pytest.raises(RecipeError, match=r"sort reads the column 'rank', .* there are: n"):
        exported(data, [group, total, jp.create("sort", by="rank")])
    assert len(exported(data, [group, total, jp.create("sort", by="n")])) == 3


def test_groups_by_a_column_that_was_removed(data):
    def without(sample):
        del sample["k"]
        return sample

    group = jp.create("key_value_grouper", group_by_keys=["k"])
    found = exported(data, [without, jp.create("shuffle"), group, jp.create("naive_reverse_grouper")])
    assert sorted(item["n"] for item in found) == list(range(ROWS))


def test_operators_see_no_column_of_ours(data):
    def names(sample):
        return {**sample, "names": sorted(sample)}

    twice = jp.create("shuffle"), lambda sample: [dict(sample), dict(sample)]
    group = jp.create("key_value_grouper", group_by_keys=["n"])
    steps = [*twice, jp.create("sort", by="n"), names, group, jp.create("naive_reverse_grouper")]
    found = exported(data, steps, block_rows=7)
    assert len(found) == 2 * ROWS
    assert {tuple(item["names"]) for item in found} == {("k", "n", "text")}
    assert {tuple(sorted(item)) for item in found} == {("k", "n", "names", "text")}


def test_equal_numbers_are_one_group():
    values = [1, 1.0, True, "1", [2], [2.0], None, {"a": 3.0}, {"a": 3}, -0.0, 0]
    found = jp.create("key_value_grouper", group_by_keys=["k"])([{"k": value} for value in values])
    assert [len(item["k"]) for item in found] == [2, 1, 1, 2, 1, 2, 2]


def test_a_text_that_no_sample_has_is_not_taken_for_an_empty_one(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"content": f"text {n}"} for n in range(3))
    flow = jp.Dataset.load(tmp_path / "in.jinx").process([lambda sample: sample, jp.create("clean_ip_mapper")])
    with pytest.warns(jp.BadRowsWarning, match="no column 'text'.*name the column of the text"):
        assert flow.export(tmp_path / "out.jinx", workers=1).rows_out == 0
