"""Operators that look at all rows: in phases, the same for any number of workers and any kills."""

import pytest

import jinx
import jinx_pipeline as jp
from bench.ray.opens import opens
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.recipe.errors import RecipeError
from pipeline.made import Killer, digest, loaded_operators, rows_of, write_input


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx", 200)


@pytest.fixture(scope="module")
def wrong():
    return loaded_operators()


@pytest.fixture
def options(wrong):
    return {"workers": 2, "block_rows": 30, "custom_operators": (str(wrong),)}


def chain(data, seconds=0.0):
    names = ["twin_deduplicator", "clean_links_mapper", "backwards_selector", "fragile_mapper"]
    slow = jp.create("slow_filter", seconds=seconds)
    return Dataset.load(data).process([slow, *map(jp.create, names)])


def expected():
    kept: list[int] = []
    for n in range(200):
        if n % 3 and n // 2 not in {item // 2 for item in kept}:
            kept.append(n)
    return kept[::-1]


def test_duplicates_go_and_a_selector_decides_the_order(data, options, tmp_path):
    result = chain(data).export(tmp_path / "out", **options)
    rows = rows_of(tmp_path / "out")
    assert [row["n"] for row in rows] == expected()
    assert all("http" not in row["text"] and row["twice"] == 2 * row["n"] for row in rows)
    assert all(row["__dj__stats__"]["n_rest"] == row["n"] % 3 for row in rows)
    assert [(operator.operator, operator.rows_in, operator.rows_out) for operator in result.operators][:2] == [
        ("slow_filter", 200, 133),
        ("twin_deduplicator", 133, len(rows)),
    ]


@pytest.mark.slow
def test_workers_kills_and_kinds_of_output_make_no_difference(data, options, tmp_path):
    chain(data).export(tmp_path / "calm", **{**options, "workers": 1})
    with Killer(2, tmp_path / "out.work") as killer:
        chain(data, seconds=0.005).export(tmp_path / "out", **options)
    assert killer.killed == 2
    assert digest(tmp_path / "out") == digest(tmp_path / "calm")
    for name, more in (("one.jinx", {}), ("view.jinx", {"kind": "view"})):
        chain(data).export(tmp_path / name, **options, **more)
        assert rows_of(tmp_path / name) == rows_of(tmp_path / "calm")
    (base,) = jinx.open(tmp_path / "view.jinx").info().bases
    assert base.path == str(data)


def test_a_deduplicator_at_the_end_and_at_the_start(data, options, tmp_path):
    for name, steps in (("end", ["slow_filter", "twin_deduplicator"]), ("start", ["twin_deduplicator", "slow_filter"])):
        flow = Dataset.load(data).process([jp.create(step) for step in steps])
        flow.export(tmp_path / name, **options)
    assert [row["n"] for row in rows_of(tmp_path / "end")] == expected()[::-1]
    assert [row["n"] for row in rows_of(tmp_path / "start")] == [n for n in range(0, 200, 2) if n % 3]


def test_groups_become_one_sample_each(data, options, tmp_path):
    flow = Dataset.load(data).process([jp.create("digit_grouper"), jp.create("total_aggregator")])
    flow.export(tmp_path / "out", **options)
    assert rows_of(tmp_path / "out") == [
        {"digit": digit, "n": sum(range(digit, 200, 10)), "rows": 20} for digit in range(10)
    ]
    flow.process(jp.create("fragile_mapper")).export(tmp_path / "more.jinx", **options)
    assert [row["twice"] for row in rows_of(tmp_path / "more.jinx")] == [
        2 * sum(range(digit, 200, 10)) for digit in range(10)
    ]
    whole = Dataset.load(data).process([jp.create("slow_filter"), jp.create("total_aggregator")])
    whole.export(tmp_path / "whole", **options)
    assert [row["rows"] for row in rows_of(tmp_path / "whole")] == [133]


def test_new_samples_are_no_view(data, options, tmp_path):
    flow = Dataset.load(data).process([jp.create("digit_grouper"), jp.create("total_aggregator")])
    with pytest.raises(RecipeError, match="makes new samples, and a view only shows those of the input"):
        flow.export(tmp_path / "view.jinx", kind="view", **options)


def test_nothing_left_is_an_empty_dataset(data, options, tmp_path):
    steps = [jp.ops.TextLengthFilter(min_len=10**6), jp.create("twin_deduplicator")]
    for name, more in (("out", {}), ("one.jinx", {}), ("view.jinx", {"kind": "view"})):
        result = Dataset.load(data).process(steps).export(tmp_path / name, **options, **more)
        assert result.rows_out == 0
        assert rows_of(tmp_path / name) == []


def test_pairs_of_duplicates_are_traced(data, options, tmp_path):
    flow = Dataset.load(data).process(jp.create("twin_deduplicator"))
    result = flow.export(tmp_path / "out", trace=2, **options)
    assert [(trace["id"], trace["of"]) for trace in result.traces] == [("1", "0"), ("3", "2")]
    assert len((tmp_path / "out.work" / "trace.jsonl").read_text().splitlines()) == 2


def test_pairs_of_duplicates_name_rows_of_the_input_after_others_were_dropped(data, options, tmp_path):
    kept = [n for n in range(200) if n % 3]  # what slow_filter keeps
    result = (
        Dataset.load(data).process(["slow_filter", "twin_deduplicator"]).export(tmp_path / "out", trace=3, **options)
    )
    pairs = [(trace["id"], trace["of"]) for trace in result.traces if trace["what"] == "duplicate"]
    assert pairs == [(str(n), str(n - 1)) for n in kept if n % 2 and n - 1 in kept][:3]


def test_what_a_function_drops_is_traced(data, options, tmp_path):
    def fewer(sample):
        return None if sample["n"] % 2 else [sample] * (sample["n"] % 3)

    result = Dataset.load(data).process(fewer).export(tmp_path / "out", trace=4, **options)
    assert [(trace["what"], trace["id"]) for trace in result.traces] == [("dropped", id) for id in "0135"]


def test_opens_after_a_global_operator_do_not_grow_with_the_blocks_before_it(tmp_path):
    with jinx.Writer(tmp_path / "in", shard_size=4000) as writer:
        writer.write_many({"id": n, "text": f"text {n % 700} {'abc ' * 15}"} for n in range(1200))
    assert jinx.open(tmp_path / "in").info().shards > 16  # of fewer, all are opened at once
    flow = jp.Dataset.load(tmp_path / "in").process(
        [jp.ops.TextLengthFilter(), jp.create("document_deduplicator"), jp.ops.WordsNumFilter()]
    )
    with opens(tmp_path / "in") as counted:
        assert flow.export(tmp_path / "out", workers=1, block_rows=30, reorder=False).rows_out == 700
    # The driver and the worker: 40 parts make no difference.
    assert {count for name, count in counted.items() if name.endswith(".jinx")} == {2}


@pytest.mark.parametrize("out", ["out", "out.jinx", "view.jinx"])
@pytest.mark.parametrize("as_sources", [False, True])
def test_an_input_of_several_files_is_shown_by_parts(tmp_path, out, as_sources):
    """A part, and the output as a view, has a base for each of the files."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name, first in (("a", 0), ("b", 6), ("empty", 12)):
        with jinx.Writer(folder / f"{name}.jinx") as writer:
            writer.write_many({"n": n, "text": "x" * (40 - n)} for n in range(first, min(first + 6, 12)))
    source = [str(folder / "a.jinx"), str(folder / "b.jinx")] if as_sources else folder
    flow = jp.Dataset.load(source).process([jp.create("sort", by=["-n"]), jp.ops.TextLengthFilter()])
    result = flow.export(tmp_path / out, kind="view" if out == "view.jinx" else "jinx", workers=1, block_rows=5)
    assert not result.bad_rows
    assert [sample["n"] for sample in jinx.open(tmp_path / out)] == list(range(11, -1, -1))
    again = flow.export(tmp_path / out, kind="view" if out == "view.jinx" else "jinx", workers=1, block_rows=5)
    assert again.resumed
