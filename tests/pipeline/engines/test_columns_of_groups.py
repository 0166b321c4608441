"""Samples that lack columns, and operators that look at several of them: the same for any blocks and batches."""

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp

pytestmark = pytest.mark.filterwarnings("ignore::jinx_pipeline.BadRowsWarning")
ROWS = 12


@jp.register("most_of_rank")
class MostOfRank(jp.Aggregator):
    """The largest rank, if any sample of the group has one."""

    def aggregate(self, batch, ctx):
        ranks = [rank for rank in batch.column("rank") if rank is not None]
        return {"n": batch.column("n"), **({"most": max(ranks)} if ranks else {})}


@jp.register("halves_grouper")
class HalvesGrouper(jp.Grouper):
    """Two groups, and an empty one between them."""

    reads = ("n",)

    def group(self, columns, count):
        return [np.arange(count // 2), np.arange(0), np.arange(count // 2, count)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "in.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": n, "k": n % 3, "text": "t", "box": [n, 1], "mask": np.arange(n)} for n in range(ROWS))
    return path


@pytest.fixture
def exported(data, tmp_path):
    def export(steps, block_rows=ROWS, text="text", **options):
        out = tmp_path / "out.jinx"
        flow = steps if isinstance(steps, jp.Dataset) else jp.Dataset.load(data, text=text).process(steps)
        result = flow.export(out, workers=1, block_rows=block_rows, overwrite=True, **options)
        return [dict(sample) for sample in jinx.open(out)], [bad.row for bad in result.bad_rows]

    return export


def rank_first(sample):
    if sample["n"] in {0, 4}:
        sample["rank"] = sample["n"]
    return sample


@pytest.mark.parametrize("block_rows", [1, ROWS])
def test_an_aggregator_reads_a_column_that_some_samples_have(exported, block_rows):
    steps = [rank_first, jp.create("key_value_grouper", group_by_keys=["k"]), jp.create("most_of_rank")]
    found, bad = exported(steps, block_rows)
    assert not bad
    assert [sample.get("most") for sample in found] == [0, 4, None]


@pytest.mark.parametrize("block_rows", [1, ROWS])
def test_a_filter_after_a_global_operator_reads_such_a_column(exported, block_rows):
    keep = jp.create("specified_numeric_field_filter", field_key="rank", min_value=0, max_value=9)
    found, bad = exported([rank_first, jp.create("sort", by="-n"), keep], block_rows)
    assert ([sample["n"] for sample in found], bad) == ([4, 0], [])


@pytest.mark.parametrize("block_rows", [1, ROWS])
def test_a_group_has_the_columns_of_its_samples(exported, block_rows):
    group = jp.create("key_value_grouper", group_by_keys=["k"])
    found, _ = exported([rank_first, group], block_rows)
    assert [sample.get("rank") for sample in found] == [[0, None, None, None], [None, 4, None, None], None]
    assert [list(sample) for sample in found][2] == ["n", "k", "text", "box", "mask"]


def test_a_group_is_not_divided_again(exported):
    found, bad = exported(["halves_grouper"], block_rows=5)
    assert ([sample["n"] for sample in found], bad) == ([list(range(6)), list(range(6, ROWS))], [])


@pytest.mark.parametrize("batch", [{}, {"batch_rows": 1}])
def test_samples_of_groups_have_their_columns_again(exported, data, batch):
    def without_text(sample):
        if sample["k"] == 1:
            del sample["text"]
        return sample

    group, ungroup = jp.create("key_value_grouper", group_by_keys=["k"]), jp.create("naive_reverse_grouper")
    flow = jp.Dataset.load(data).process([rank_first, without_text, group]).process(ungroup, **batch)
    found, bad = exported(flow)
    assert not bad
    assert {sample["k"] for sample in found if "text" in sample} == {0, 2}
    assert {sample["k"] for sample in found if "rank" in sample} == {0, 1}


@pytest.mark.parametrize("block_rows", [1, ROWS])
def test_a_sample_without_a_text_that_the_input_has(exported, block_rows):
    def without_text(sample):
        if sample["n"] != 5:
            del sample["text"]
        return sample

    clean = "whitespace_normalization_mapper"
    found, bad = exported([without_text, "shuffle", clean, jp.create("sort", by="n")], block_rows)
    assert (bad, [sample["n"] for sample in found if "text" in sample]) == ([], [5])


@pytest.mark.parametrize("more", [[], ["shuffle"]])
@pytest.mark.parametrize("block_rows", [1, 5, ROWS])
def test_a_sample_without_a_text_that_a_function_gives_to_others(exported, block_rows, more):
    def name_text(sample):
        if sample["n"] < 3:
            sample["content"] = f"  {sample['n']}"
        return sample

    clean = jp.create("whitespace_normalization_mapper")
    found, bad = exported([name_text, *more, clean], block_rows, text="content", max_bad_rows=ROWS)
    assert sorted(sample["content"] for sample in found) == ["0", "1", "2"]
    assert sorted(bad) == list(range(3, ROWS))


@pytest.mark.parametrize("block_rows", [1, ROWS])
def test_changes_that_python_calls_equal(exported, block_rows):
    def as_floats(sample):
        sample["box"] = [float(number) for number in sample["box"]]
        sample["mask"] = sample["mask"] + (sample["n"] == 3)
        return sample

    found, bad = exported([as_floats, "shuffle"], block_rows)
    assert not bad
    assert {type(number) for sample in found for number in sample["box"]} == {float}
    # An array that did not change is in its place, and not among the changed columns.
    order = {sample["n"]: list(sample) for sample in found}
    assert order[3] == ["n", "k", "text", "box", "mask"]
    assert order[4] == ["n", "k", "text", "mask", "box"]


@pytest.mark.parametrize("ungroups", [False, True])
def test_groups_without_statistics(exported, ungroups):
    steps = [jp.create("text_length_filter", min_len=1), jp.create("key_value_grouper", group_by_keys=["k"])]
    found, _ = exported([*steps, *(["naive_reverse_grouper"] if ungroups else [])], keep_stats=False)
    assert found
    assert not any("__dj__stats__" in sample for sample in found)
    kept, _ = exported(steps, restart=True)
    assert all("__dj__stats__" in sample for sample in kept)
