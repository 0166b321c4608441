"""The plan: segments, stages, blocks, and the order of filters."""

import json
import os
from dataclasses import replace

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators import Resources
from jinx_pipeline.plan.mixture import mixture_order
from jinx_pipeline.plan.planner import Plan, make_plan, refuse_impossible, segments_of
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
    (segment,) = segments_of(what, rates({0: 100.0, 1: 900.0, 3: 5000.0}))
    assert segment.stages[0].operators == [1, 0, 2, 3]
    (as_written,) = segments_of(what, rates({0: 100.0}))
    assert as_written.stages[0].operators == [0, 1, 2, 3]
    (kept,) = segments_of(replace(what, options=Options(reorder=False)), rates({0: 100.0, 1: 900.0}))
    assert kept.stages[0].operators == [0, 1, 2, 3]


def test_operators_that_see_all_rows_end_segments():
    what = recipe("text_length_filter", "document_deduplicator", "clean_links_mapper", "image_deduplicator")
    found = [(one.stages[0].operators, one.decides) for one in segments_of(what)]
    assert found == [([0], 1), ([2], 3), ([], None)]


def test_another_resource_begins_a_stage(monkeypatch):
    what = recipe("text_length_filter", "clean_links_mapper", "words_num_filter")
    monkeypatch.setattr(type(what.steps[1].operator), "resources", Resources(gpus=1))
    (segment,) = segments_of(what)
    assert [(stage.operators, stage.pool) for stage in segment.stages] == [([0], "cpu"), ([1], "gpu"), ([2], "cpu")]
    with pytest.raises(RecipeError, match="clean_links_mapper needs a GPU, and there is none"):
        refuse_impossible(what, gpus=0, memory=None, columns=["text"])


def test_too_little_memory_is_refused(monkeypatch):
    what = recipe("words_num_filter")
    monkeypatch.setattr(type(what.steps[0].operator), "resources", Resources(memory=2 << 30))
    with pytest.raises(RecipeError, match="needs 2,147,483,648 bytes of memory, and a worker may use 1,000"):
        refuse_impossible(what, gpus=0, memory=1000, columns=["text"])


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


def test_a_pipe_is_no_input(tmp_path):
    """It would be waited for without an end."""
    os.mkfifo(tmp_path / "in.jsonl")
    with pytest.raises(ValueError, match=r"in\.jsonl: this is a pipe or a device; a regular file is needed"):
        jp.Dataset.load(tmp_path / "in.jsonl").process("text_length_filter").export(tmp_path / "out.jinx")
