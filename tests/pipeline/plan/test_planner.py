"""The plan: nodes, blocks, and the order of filters."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators import Resources
from jinx_pipeline.plan.graph_builder import graph_of
from jinx_pipeline.plan.mixture import mixture_order
from jinx_pipeline.plan.planner import Plan, make_plan, pools_of_plan, with_pools
from jinx_pipeline.plan.probe import Findings, Measured
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.model import Export, Options, Recipe, SourceSpec, Step
from jinx_pipeline.recipe.read import read_recipe
from jinx_pipeline.sample.roles import Roles


def recipe(*names: str, **options) -> Recipe:
    steps = tuple(Step(jp.create(name)) for name in names)
    return Recipe((SourceSpec("in.jinx"),), Roles(), steps, options=Options(**options))


def rates(found: dict[int, float]) -> Findings:
    return Findings({place: Measured(rate, 10, 20) for place, rate in found.items()}, 1000)


def test_faster_filters_run_first_but_never_past_a_mapper():
    what = recipe("text_length_filter", "words_num_filter", "clean_links_mapper", "character_repetition_filter")
    (node,) = graph_of(what, rates({0: 100.0, 1: 900.0, 3: 5000.0})).of_kind("map")
    assert node.operators == (1, 0, 2, 3)
    (as_written,) = graph_of(what, rates({0: 100.0})).of_kind("map")
    assert as_written.operators == (0, 1, 2, 3)
    assert as_written.id == node.id
    (kept,) = graph_of(replace(what, options=Options(reorder=False)), rates({0: 100.0, 1: 900.0})).of_kind("map")
    assert kept.operators == (0, 1, 2, 3)


def places_of(operators, found):
    what = Recipe((SourceSpec("in.jinx"),), Roles(), tuple(Step(operator) for operator in operators))
    (node,) = graph_of(what, rates(found)).of_kind("map")
    return node.operators


def test_filters_with_the_same_statistic_keep_their_order():
    # The last of them decides the value in the output.
    repeated = [jp.create("character_repetition_filter", rep_len=length) for length in (10, 2)]
    operators = [repeated[0], jp.create("words_num_filter"), repeated[1], jp.create("text_length_filter")]
    assert places_of(operators, {0: 100.0, 1: 300.0, 2: 900.0, 3: 500.0}) == (3, 1, 0, 2)


def test_a_filter_never_passes_one_whose_statistic_it_reads():
    measured = jp.create("text_length_filter")
    condition = jp.create("general_field_filter", filter_condition="__dj__stats__.text_len > 5")
    other = jp.create("general_field_filter", filter_condition="n > 5")
    assert places_of([measured, condition], {0: 1.0, 1: 9.0}) == (0, 1)
    assert places_of([condition, measured], {0: 1.0, 1: 9.0}) == (0, 1)
    assert places_of([measured, other], {0: 1.0, 1: 9.0}) == (1, 0)


def test_operators_that_see_all_rows_end_chains():
    what = recipe("text_length_filter", "document_deduplicator", "clean_links_mapper", "image_deduplicator")
    nodes = [(node.operators, node.keys_of) for node in graph_of(what).of_kind("map")]
    assert nodes == [((0,), 1), ((2,), 3), ((), None)]


def test_another_resource_begins_a_node(monkeypatch):
    what = recipe("text_length_filter", "clean_links_mapper", "words_num_filter")
    monkeypatch.setattr(type(what.steps[1].operator), "resources", Resources(gpus=1))
    nodes = [(node.operators, node.pool) for node in graph_of(what).of_kind("map")]
    assert nodes == [((0,), "cpu"), ((1,), "gpu"), ((2,), "cpu")]


def test_an_operator_has_the_batches_that_the_recipe_gives_it_alone():
    what = recipe("text_length_filter", "clean_links_mapper", "words_num_filter")
    steps = (what.steps[0], replace(what.steps[1], batch_rows=7), what.steps[2])
    nodes = graph_of(replace(what, steps=steps, options=Options(batch_rows=50))).of_kind("map")
    assert [(node.operators, node.batch_rows) for node in nodes] == [((0,), 50), ((1,), 7), ((2,), 50)]
    assert replace(what, steps=steps).digest != what.digest


def test_keys_and_groups_are_made_by_workers_that_their_operator_needs():
    what = recipe("text_length_filter", "document_deduplicator", "clean_links_mapper", "naive_grouper")
    large = Resources(memory=5_000_000_000)
    steps = tuple(replace(item, given_resources=large) if at in {1, 3} else item for at, item in enumerate(what.steps))
    changed = replace(what, steps=steps)
    nodes = [(node.operators, node.pool) for node in graph_of(changed).of_kind("map")]
    assert nodes == [((0,), "cpu"), ((), "cpu-5GB"), ((2,), "cpu"), ((), "cpu-5GB")]
    assert changed.digest == what.digest


def test_a_run_that_is_resumed_gives_its_stages_what_the_recipe_says_now():
    what = recipe("text_length_filter", "clean_links_mapper")
    plan = make_plan(what, [], 10)
    assert pools_of_plan(what, plan) == {"cpu": Resources()}
    steps = (what.steps[0], replace(what.steps[1], given_resources=Resources(memory=10**9)))
    assert list(pools_of_plan(replace(what, steps=steps), plan)) == ["cpu", "cpu-1GB"]
    assert [node.pool for node in with_pools(replace(what, steps=steps), plan).graph.of_kind("map")] == ["cpu-1GB"]


def test_a_plan_reads_back_as_it_was_written():
    plan = make_plan(recipe("text_length_filter", "document_deduplicator"), [], 10, rates({0: 2.0}))
    assert Plan.from_dict(plan.to_dict()) == plan
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_a_mixture_depends_on_the_seed_alone():
    sources = [SourceSpec("a", weight=1.0), SourceSpec("b", weight=3.0)]
    first, again = (mixture_order(sources, [100, 90], 5) for _ in range(2))
    assert first is not None
    assert again is not None
    assert first.tolist() == again.tolist() == sorted(first.tolist())
    assert [sum(first < 100), sum(first >= 100)] == [30, 90]
    assert mixture_order([SourceSpec("a"), SourceSpec("b")], [10, 20], 5) is None


@pytest.mark.parametrize("weights", [(1, 1), (3, 1)])
@pytest.mark.parametrize("max_samples", [None, 5])
def test_a_source_of_weight_0_does_not_change_what_others_give(weights, max_samples):
    first, last = SourceSpec("a", weights[0]), SourceSpec("b", weights[1], max_samples)
    without = mixture_order([first, last], [90, 31], 5)
    expected = np.arange(121) if without is None else without
    order = mixture_order([first, SourceSpec("zero", 0), last], [90, 57, 31], 5)
    assert order is not None
    assert np.where(order >= 90, order - 57, order).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet", "in.tar"])
def test_a_plan_refuses_columns_that_an_unconverted_input_lacks(tmp_path, name):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"__key__": f"k{n}", "text": f"text {n}"} for n in range(10))
    jinx.convert(tmp_path / "in.jinx", tmp_path / name)
    before = sorted(tmp_path.iterdir())
    what = replace(
        recipe("words_num_filter"), sources=(SourceSpec(str(tmp_path / name)),), export=Export(str(tmp_path / "out"))
    )
    assert describe(what)["inputs"][0]["converted"]
    with pytest.raises(RecipeError, match="reads the column 'txt', which the input does not have; did you mean 'text'"):
        describe(replace(what, roles=Roles(text="txt")))
    assert sorted(tmp_path.iterdir()) == before


def test_json_lines_may_have_columns_that_appear_late(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"text": "early"} if n < 299 else {"late": "x"} for n in range(300))
    for name in ("in.jsonl", "in.parquet"):
        jinx.convert(tmp_path / "in.jinx", tmp_path / name)
    what = replace(recipe("words_num_filter"), roles=Roles(text="late"), export=Export(str(tmp_path / "out")))
    describe(replace(what, sources=(SourceSpec(str(tmp_path / "in.jsonl")),)))
    with pytest.raises(RecipeError, match="reads the column 'txt', which the input does not have"):
        describe(replace(what, sources=(SourceSpec(str(tmp_path / "in.parquet")),), roles=Roles(text="txt")))


def test_a_directory_of_jinx_and_other_files_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    jinx.convert([{"text": "a"}], tmp_path / "in" / "a.jinx")
    (tmp_path / "in" / "b.jsonl").write_text('{"text": "b"}\n' * 5000)
    what = jp.Dataset.load(tmp_path / "in").process("text_length_filter")
    with pytest.raises(ValueError, match=r"different formats \(jinx: a.jinx, jsonl: b.jsonl\)"):
        describe(what.recipe)
    with pytest.raises(ValueError, match="different formats"):
        what.export(tmp_path / "out.jinx")
    (tmp_path / "recipe.yaml").write_text(f"dataset: {tmp_path}/in\nexport: {tmp_path}/out.jinx\n")
    with pytest.raises(ValueError, match=r"recipe\.yaml, line 1: dataset: .*/in: the files in this directory have"):
        describe(read_recipe(tmp_path / "recipe.yaml"))


def test_a_directory_with_a_view_of_its_own_files_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    jinx.convert([{"text": "a"}, {"text": "b"}], tmp_path / "in" / "a.jinx")
    jinx.open(tmp_path / "in" / "a.jinx")[:1].save(tmp_path / "in" / "good.jinx")
    what = jp.Dataset.load(tmp_path / "in").process("text_length_filter")
    with pytest.raises(jinx.UnsupportedError, match=r"in: good.jinx is a saved view, .*, and a.jinx is not"):
        what.export(tmp_path / "out.jinx")


def test_a_pipe_is_no_input(tmp_path):
    """It would be waited for without an end."""
    os.mkfifo(tmp_path / "in.jsonl")
    with pytest.raises(ValueError, match=r"in\.jsonl: this is a pipe or a device; a regular file is needed"):
        jp.Dataset.load(tmp_path / "in.jsonl").process("text_length_filter").export(tmp_path / "out.jinx")
