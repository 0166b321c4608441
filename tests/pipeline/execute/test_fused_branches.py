"""Branches in one node: the same rows in the same order and bytes as in nodes of their own, whatever fails."""

from dataclasses import replace
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.plan import graph_builder
from jinx_pipeline.recipe.model import Export, StepPort
from jinx_pipeline.recipe.output_kind import kind_of
from jinx_pipeline.recipe.read import read_recipe
from jinx_pipeline.run_plan import plan_of
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.part_check import refuse_other_parts
from jinx_pipeline.runlog.run_log import RunLogError
from jinx_pipeline.runlog.work_dir import WorkDir
from pipeline.execute.graph_runs import SOURCES, GraphRun, numbers, recipe, step, words, write_data
from pipeline.made import digest, loaded_operators

pytestmark = pytest.mark.filterwarnings("ignore::jinx_pipeline.BadRowsWarning", "ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "in.jinx")


@pytest.fixture
def in_nodes(monkeypatch):
    """A function that runs something as if no branches were fused."""

    def call(function):
        with monkeypatch.context() as patch:
            patch.setattr(graph_builder, "fused", lambda graph, *_: graph)
            return function()

    return call


def function(data, code):
    """A function as an operator."""
    return jp.Dataset.load(data).process(code).recipe.steps[0].operator


def short(most):
    return jp.create("words_num_filter", min_num=1, max_num=most)


def blocks(rows=60, size=7):
    return [range(first, min(first + size, rows)) for first in range(0, rows, size)]


def in_lanes(block):
    """The rows of a block of `diamond`."""
    return [n for n in block if n % 5 + 1 >= 3] + [n for n in block if n % 5 + 1 <= 3]


def diamond(data, *, left=(), right=(), last=()):
    """A mapper; texts of many and of few words; and a mapper of both."""
    steps = [step("clean_links_mapper", SOURCES), words(3, (StepPort(0),))]
    steps += [step(operator, StepPort(len(steps) + at - 1)) for at, operator in enumerate(left)]
    ends = [StepPort(len(steps) - 1)]
    steps.append(step(short(3), StepPort(0)))
    steps += [step(operator, StepPort(len(steps) + at - 1)) for at, operator in enumerate(right)]
    ends.append(StepPort(len(steps) - 1))
    steps += [step("whitespace_normalization_mapper", *ends), *map(step, last)]
    return recipe(data, steps)


def nested(data):
    return recipe(
        data,
        [
            step("clean_links_mapper"),
            words(2, (StepPort(0),)),
            step(short(3), StepPort(1)),
            words(3, (StepPort(1),)),
            step("whitespace_normalization_mapper", StepPort(2), StepPort(3)),
            words(5, (StepPort(0),)),
        ],
        outputs=[(StepPort(5), StepPort(4), SOURCES)],
    )


def other_columns(data):
    """Branches that add columns, and an operator that reads one of them where the rows come together."""

    def numbered(sample):
        return {**sample, "left": sample["n"]}

    def cased(sample):
        return {**sample, "text": sample["text"].upper(), "twice": 2 * sample["n"]}

    kept = jp.create("specified_numeric_field_filter", field_key="left", min_value=0)
    return diamond(data, left=[function(data, numbered)], right=[function(data, cased)], last=[kept])


def split(data):
    """Samples with ids of their own, in one branch."""
    return diamond(data, right=[jp.create("text_chunk_mapper", max_len=8, split_pattern=" ")])


def with_stats(data):
    what = diamond(data, left=["text_length_filter"], right=["alphanumeric_filter"], last=["text_length_filter"])
    return replace(what, export=Export("out.jinx", keep_stats=True))


def deduplicated(data):
    return diamond(data, last=["document_deduplicator", jp.create("sort", by="-n")])


def after(data, *first):
    """A diamond whose first operator follows others."""
    what = diamond(data)

    def moved(port):
        return StepPort(len(first) + (-1 if port.step is None else port.step))

    others = [replace(item, inputs=item.inputs and tuple(map(moved, item.inputs))) for item in what.steps]
    return replace(what, steps=(*map(step, first), *others))


def of_decided_rows(data):
    return after(data, jp.create("sort", by="-n"))


def of_new_rows(data):
    """Rows of groups, which are not those of the input."""

    def first(sample):
        return {"n": sample["n"][0], "text": sample["text"][0]}

    return after(data, jp.create("key_value_grouper", group_by_keys=["n"]), function(data, first))


def of_dropped_rows(data):
    what = after(data, jp.create("specified_numeric_field_filter", field_key="n", max_value=40))
    drops, links, *others = what.steps
    links = replace(links, inputs=(StepPort(0, "dropped"),))
    return replace(what, steps=(drops, links, *others))


def of_a_column_of_another_branch(data):
    """A branch that reads a column which only the other branch adds: it is unknown there."""

    def numbered(sample):
        return {**sample, "left": sample["n"]}

    filtered = jp.create("specified_numeric_field_filter", field_key="left", min_value=0)
    return recipe(
        data,
        [
            step(function(data, numbered), SOURCES),
            step(filtered, SOURCES),
            step("whitespace_normalization_mapper", StepPort(0), StepPort(1)),
        ],
    )


MADE = (
    diamond,
    nested,
    other_columns,
    of_a_column_of_another_branch,
    split,
    with_stats,
    deduplicated,
    of_decided_rows,
    of_new_rows,
    of_dropped_rows,
)
RECIPES = {made.__name__: made for made in MADE}


@pytest.mark.parametrize("name", RECIPES)
def test_the_bytes_are_those_of_nodes_for_each_branch(name, data, tmp_path, in_nodes):
    what = RECIPES[name](data)
    fused = GraphRun(what, tmp_path / "fused", workers=2)
    assert fused.run()
    apart = GraphRun(what, tmp_path / "apart")
    assert in_nodes(apart.run)
    assert len(fused.done) < len(apart.done)
    (out,), (expected,) = fused.write(tmp_path / "fused-out"), apart.write(tmp_path / "apart-out")
    assert jinx.open(out).to_list() == jinx.open(expected).to_list()
    assert out.read_bytes() == expected.read_bytes()
    assert len(jinx.open(out))
    bad = [[facts for kind, facts in run.events if kind == "bad_row"] for run in (fused, apart)]
    assert sorted(map(str, bad[0])) == sorted(map(str, bad[1]))


def test_the_rows_of_a_block_are_those_of_one_lane_after_another(data, tmp_path):
    run = GraphRun(diamond(data), tmp_path / "work")
    assert run.run()
    assert run.tasks() == {"whitespace_normalization": 9}
    (out,) = run.write(tmp_path / "out")
    expected = [row for block in blocks() for row in in_lanes(block)]
    assert numbers(out) == expected
    # What is told of the blocks counts the rows of both lanes.
    assert sum(facts["rows_out"] for facts in run.done) == len(expected)


def raising(*bad):
    def code(sample):
        if sample["n"] in bad:
            raise ValueError("bad")
        return sample

    return code


def killing(row):
    def code(sample):
        import os
        import signal

        if sample["n"] == row:
            os.kill(os.getpid(), signal.SIGKILL)
        return sample

    return code


def test_a_row_on_which_an_operator_fails_is_left_out_of_its_branch(data, tmp_path):
    run = GraphRun(diamond(data, left=[function(data, raising(2, 12, 13))]), tmp_path / "work")
    assert run.run()
    (out,) = run.write(tmp_path / "out")
    expected = []
    for block in blocks():
        expected += [n for n in block if n % 5 + 1 >= 3 and n not in {2, 12, 13}]
        expected += [n for n in block if n % 5 + 1 <= 3]
    assert numbers(out) == expected
    assert sorted(facts["row"] for kind, facts in run.events if kind == "bad_row") == [2, 12, 13]


def test_a_row_that_fails_after_the_branches_fails_once_for_each(data, tmp_path):
    run = GraphRun(diamond(data, last=[function(data, raising(2, 3))]), tmp_path / "work")
    assert run.run()
    # Row 2 has three words, and takes both ways.
    assert sorted(facts["row"] for kind, facts in run.events if kind == "bad_row") == [2, 2, 3]


@pytest.mark.parametrize("where", ["left", "last"])
def test_a_row_that_kills_its_worker_is_left_out_of_all_branches(data, tmp_path, where):
    """Its block is divided, and its rows stay in order."""
    run = GraphRun(diamond(data, **{where: [function(data, killing(22))]}), tmp_path / "work", workers=2)
    assert run.run()
    (out,) = run.write(tmp_path / "out")
    assert numbers(out) == [row for block in blocks() for row in in_lanes(block) if row != 22]
    assert [facts["row"] for kind, facts in run.events if kind == "bad_row"] == [22]


def test_what_was_committed_is_not_done_again(data, tmp_path):
    what = diamond(data, last=["document_deduplicator"])
    calm = GraphRun(what, tmp_path / "calm")
    assert calm.run()
    stopped = GraphRun(what, tmp_path / "stopped", workers=2)
    stops = 0
    while not stopped.run(stop_after=len(stopped.done) + 4, kills=1):
        stops += 1
    assert stops
    assert len(stopped.done) == len(calm.done)
    (out,), (expected,) = stopped.write(tmp_path / "out"), calm.write(tmp_path / "calm-out")
    assert out.read_bytes() == expected.read_bytes()


def test_parts_of_all_lanes_are_kept_checked_and_swept(data, tmp_path):
    run = GraphRun(diamond(data), tmp_path / "work")
    assert run.run()
    with WorkDir(tmp_path / "work") as work_dir, Ledger(work_dir.current()) as ledger:
        (node,) = plan_of(ledger).graph.of_kind("map")
        (first, second) = ledger.lanes(node.id, 0)
        assert [part.rows for part in (*first, *second)] == [3, 5]
        assert str(second[0].part) == str(first[0].part).replace(".jinx", ".lane1.jinx")
        assert ledger.committed(node.id, 0, 7) == {"out": 8}
        (ledger.directory.parts / "left.lane1.jinx").touch()
        before = set(ledger.directory.parts.iterdir())
        ledger.sweep()
        assert {path.name for path in before - set(ledger.directory.parts.iterdir())} == {"left.lane1.jinx"}
        refuse_other_parts(ledger)
        assert not ledger.has_lost_parts(node.id, range(9))
        other = ledger.lanes(node.id, 1)[1][0]
        lane = ledger.directory.parts / str(second[0].part)
        lane.write_bytes((ledger.directory.parts / str(other.part)).read_bytes())
        with pytest.raises(RunLogError, match=r"lane1\.jinx is not the part that this run has written"):
            refuse_other_parts(ledger)
        lane.unlink()
        assert ledger.has_lost_parts(node.id, range(9))


def exported(data, out, *, workers=1, **bad):
    """A run whose first operator fails on some rows, or kills its worker on them."""
    files = (str(loaded_operators()),)
    what = after(data, jp.create("fragile_mapper", **bad))
    kind = "view" if out.stem == "view" else kind_of(str(out))
    export = Export(str(out), kind=kind, shard_size="1kB" if kind == "jinx" and not out.suffix else None)
    options = replace(what.options, workers=workers, custom_operators=files, max_bad_rows=1)
    result = jp.Run(replace(what, export=export, options=options))()
    assert [row.row for row in result.bad_rows] == [22]
    return result


@pytest.mark.parametrize("name", ["out.jinx", "out", "view.jinx", "out.parquet", "out.jsonl"])
def test_every_kind_of_output_has_the_same_bytes_when_a_block_is_divided(data, tmp_path, name):
    for folder in ("raises", "kills"):
        (tmp_path / folder).mkdir()
    calm = exported(data, tmp_path / "raises" / name, raises=(22,))
    divided = exported(data, tmp_path / "kills" / name, workers=2, kills=(22,))
    assert calm.rows_out == divided.rows_out == 70
    assert digest(tmp_path / "raises" / name) == digest(tmp_path / "kills" / name)
    if name in {"out", "out.jinx"}:
        rows = [row for block in blocks() for row in in_lanes(block) if row != 22]
        assert numbers(tmp_path / "kills" / name) == rows
        assert not any("https" in row["text"] for row in jinx.open(tmp_path / "kills" / name).to_list())


def test_figures_and_examples_are_those_of_nodes_for_each_branch(data, tmp_path, in_nodes):
    found = []
    for folder in ("fused", "apart"):
        what = replace(diamond(data, left=["text_length_filter"]), export=Export(str(tmp_path / folder)))
        what = replace(what, options=replace(what.options, workers=1, trace=3))
        result = (jp.Run(what) if folder == "fused" else in_nodes(lambda what=what: jp.Run(what)))()
        found.append(result)
    fused, apart = found
    for name in ("place", "operator", "rows_in", "rows_out", "bad_rows"):
        assert [getattr(totals, name) for totals in fused.operators] == [
            getattr(totals, name) for totals in apart.operators
        ]
    assert fused.operators[-1].rows_in == fused.rows_out
    counts = [[trace["number"] for trace in result.traces] for result in found]
    assert counts[0] == counts[1]


def test_a_graph_in_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "in.jinx")
    Path("recipe.yaml").write_text(
        """\
nodes:
  texts: {source: in.jinx}
  clean: {operators: [clean_links_mapper]}
  long: {operators: [words_num_filter: {min_num: 3}]}
  short: {operators: [words_num_filter: {min_num: 1, max_num: 3}]}
  last: {operators: [whitespace_normalization_mapper]}
  out: {sink: out.jinx}
flows:
  - {from: texts, to: clean}
  - {from: clean, to: [long, short]}
  - {from: [long, short], to: last}
  - {from: last, to: out}
"""
    )
    result = jp.Run(read_recipe("recipe.yaml", workers=1))()
    assert result.rows_out == 72
    assert [(totals.operator, totals.rows_in, totals.rows_out) for totals in result.operators] == [
        ("clean_links_mapper", 60, 60),
        ("words_num_filter", 60, 36),
        ("words_num_filter", 60, 36),
        ("whitespace_normalization_mapper", 72, 72),
    ]
