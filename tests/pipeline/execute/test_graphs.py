"""Graphs of nodes with branches, several outputs and barriers: the right rows, once, for any workers and kills."""

from dataclasses import replace
from hashlib import sha256
from itertools import groupby

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.engines.driver import RepairError
from jinx_pipeline.model.receipt import BadRow, Receipt
from jinx_pipeline.operators.api.gather import Gather
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.model import Export, StepPort
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_log import RunLogError
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.schedule.task import Task
from pipeline.execute.graph_runs import SOURCES, CountedOutputs, GraphRun, numbers, recipe, step, words, write_data
from pipeline.made import digest


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "in.jinx")


def chain(data):
    return recipe(data, [step("clean_links_mapper"), words(2), step("document_deduplicator"), words(3)])


def diamond(data):
    """One mapper, two filters that read what it makes, and their rows together again."""
    long, short = words(4, (StepPort(0),)), jp.create("words_num_filter", min_num=1, max_num=2)
    return recipe(
        data, [step("clean_links_mapper"), long, step(short, StepPort(0))], outputs=[(StepPort(1), StepPort(2))]
    )


def kept_and_dropped(data):
    return recipe(
        data,
        [step("clean_links_mapper"), words(3), step("whitespace_normalization_mapper", StepPort(1, "dropped"))],
        outputs=[(StepPort(1, "kept"),), (StepPort(2),)],
    )


def joined(data):
    """A join after a branch that comes together again, and a sort of what the branches have dropped."""
    other = data.with_name("other.jinx")
    if not other.exists():
        with jinx.Writer(other) as writer:
            writer.write_many({"n": n, "twice": 2 * n} for n in range(0, 60, 2))
    return recipe(
        data,
        [
            words(3),
            step("clean_links_mapper", StepPort(0, "dropped")),
            step(jp.create("join", path=str(other), on="n", how="inner"), StepPort(0), StepPort(1)),
            step(jp.create("sort", by="-n")),
        ],
    )


GRAPHS = {item.__name__: item for item in (chain, diamond, kept_and_dropped, joined)}


@pytest.fixture(params=GRAPHS)
def graph(request, data):
    return GRAPHS[request.param](data)


def digests(run, folder):
    return [sha256(path.read_bytes()).hexdigest() for path in run.write(folder)]


@pytest.mark.timeout(180)
def test_the_rows_are_the_same_for_any_workers_kills_and_resumes(graph, tmp_path):
    calm = GraphRun(graph, tmp_path / "calm")
    assert calm.run()
    expected = digests(calm, tmp_path / "calm-out")
    many = GraphRun(graph, tmp_path / "many", workers=2)
    assert many.run(kills=2)
    assert digests(many, tmp_path / "many-out") == expected
    stopped = GraphRun(graph, tmp_path / "stopped", workers=2)
    stops = 0
    while not stopped.run(stop_after=len(stopped.done) + 4):
        stops += 1
    assert stops
    assert digests(stopped, tmp_path / "stopped-out") == expected
    # What was committed was not done again.
    assert len(stopped.done) == len(calm.done)


def test_a_block_that_feeds_two_branches_is_computed_once(data, tmp_path):
    run = GraphRun(diamond(data), tmp_path / "work")
    assert run.run()
    # The node with the output does all of it.
    assert run.tasks() == {"rows": 9}
    (out,) = run.write(tmp_path / "out")
    rows = jinx.open(out).to_list()
    assert not any("https" in row["text"] for row in rows)
    expected = []
    for first in range(0, 60, 7):
        block = range(first, min(first + 7, 60))
        expected += [n for n in block if n % 5 + 1 >= 4] + [n for n in block if n % 5 + 1 <= 2]
    assert [row["n"] for row in rows] == expected


def test_what_a_filter_keeps_and_drops_goes_to_two_outputs(data, tmp_path):
    run = GraphRun(kept_and_dropped(data), tmp_path / "work", workers=2)
    assert run.run()
    kept, dropped = run.write(tmp_path / "out")
    assert numbers(kept) == [n for n in range(60) if n % 5 + 1 >= 3]
    assert numbers(dropped) == [n for n in range(60) if n % 5 + 1 < 3]


def test_the_rows_on_which_an_operator_fails_are_an_output(data, tmp_path):
    def odd_fails(sample):
        if sample["n"] % 10 == 3:
            raise ValueError("a three")
        return {**sample, "text": "seen"}

    mapper = jp.Dataset.load(data).process(odd_fails).recipe.steps[0].operator
    what = recipe(data, [step(mapper)], outputs=[(StepPort(0),), (StepPort(0, "failed"),)])
    run = GraphRun(what, tmp_path / "work")
    assert run.run()
    done, failed = run.write(tmp_path / "out")
    assert numbers(done) == [n for n in range(60) if n % 10 != 3]
    assert numbers(failed) == [3, 13, 23, 33, 43, 53]
    assert {row["text"] for row in jinx.open(done).to_list()} == {"seen"}
    assert all("word" in row["text"] for row in jinx.open(failed).to_list())
    assert sorted(facts["row"] for kind, facts in run.events if kind == "bad_row") == [3, 13, 23, 33, 43, 53]


def test_a_filter_that_drops_nothing_of_a_block_comes_together_with_one_that_does(data, tmp_path):
    dropped = (StepPort(0, "dropped"), StepPort(1, "dropped"))
    what = recipe(data, [words(1), words(3)], outputs=[(StepPort(1),), dropped])
    run = GraphRun(what, tmp_path / "work")
    assert run.run()
    _, out = run.write(tmp_path / "out")
    # A link is a word.
    assert numbers(out) == [n for n in range(60) if n % 5 + 1 + (n % 6 == 0) < 3]
    assert not any(kind == "bad_row" for kind, _ in run.events)


@pytest.mark.parametrize("block_rows", [7, 25, 1000])
@pytest.mark.parametrize("first", [[], ["sort"], ["sort", "splitter"]])
def test_the_rows_that_operators_divided_come_in_row_order_for_any_blocks(data, tmp_path, first, block_rows):
    made = {"sort": {"by": "-n"}, "splitter": {"max_len": 1000, "split_pattern": "(?=https)"}}
    names = {"sort": "sort", "splitter": "text_chunk_mapper"}
    steps = [step(jp.create(names[key], **made[key])) for key in first]
    two = len(steps)
    ports = [StepPort(two, "dropped"), StepPort(two + 1, "dropped")]
    outputs = [(StepPort(two + 1),), tuple(ports), (StepPort(two + 1), *reversed(ports))]
    what = recipe(data, [*steps, words(2), words(4)], outputs=outputs, block_rows=block_rows)
    run = GraphRun(what, tmp_path / "work")
    assert run.run()
    kept, dropped, both = map(jinx.open, run.write(tmp_path / "out"))
    expected = sorted([*kept.column("n"), *dropped.column("n")], reverse=bool(first))
    assert list(both.column("n")) == expected
    assert list(dropped.column("n")) == sorted(dropped.column("n"), reverse=bool(first))
    counts = [len(text.split()) for text in dropped.column("text")]
    assert 1 in counts
    assert 3 in counts


@pytest.mark.parametrize("block_rows", [7, 1000])
@pytest.mark.parametrize("first", ["split", "sort, split", "split, sort"])
def test_samples_of_a_splitter_that_were_divided_come_in_their_order(tmp_path, first, block_rows):
    made = {"split": jp.create("text_chunk_mapper", max_len=4, split_pattern=" "), "sort": jp.create("sort", by="-n")}
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for n in range(20):
            # The chunks of a row are short and long ones in turn, and more than ten.
            chunks = " ".join(f"{n:02}{chr(97 + at)}" + "x" * (at % 2) for at in range(12))
            writer.write({"n": n, "text": chunks})
    steps = [step(made[name]) for name in first.split(", ")]
    last = len(steps)
    steps.append(step(jp.create("text_length_filter", min_len=4)))
    outputs = [(StepPort(last - 1),), (StepPort(last, "kept"), StepPort(last, "dropped"))]
    run = GraphRun(recipe(tmp_path / "in.jinx", steps, outputs=outputs, block_rows=block_rows), tmp_path / "work")
    assert run.run()
    before, divided = (list(jinx.open(path).column("text")) for path in run.write(tmp_path / "out"))
    assert len(before) == 240
    assert divided == before


@pytest.mark.parametrize("block_rows", [7, 1000])
def test_dropped_rows_that_are_gathered_come_in_row_order(data, tmp_path, block_rows):
    steps = [words(2), words(4), step(Gather(at_least=1), StepPort(0, "dropped"), StepPort(1, "dropped"), StepPort(1))]
    what = recipe(data, steps, outputs=[(StepPort(1),), (StepPort(2),)], block_rows=block_rows)
    run = GraphRun(what, tmp_path / "work")
    assert run.run()
    kept, dropped = map(numbers, run.write(tmp_path / "out"))
    assert dropped == [n for n in range(60) if n not in kept]


def test_sources_and_a_branch_of_them_together(data, tmp_path):
    what = recipe(data, [words(5, (SOURCES,))], outputs=[(SOURCES, StepPort(0))])
    run = GraphRun(what, tmp_path / "work")
    assert run.run()
    (out,) = run.write(tmp_path / "out")
    expected = []
    for first in range(0, 60, 7):
        block = range(first, min(first + 7, 60))
        # A link is a word.
        expected += [*block, *(n for n in block if n % 5 + 1 + (n % 6 == 0) >= 5)]
    assert numbers(out) == expected


def test_a_join_reads_both_its_inputs_before_it_decides(data, tmp_path):
    run = GraphRun(joined(data), tmp_path / "work", workers=2)
    assert run.run()
    (out,) = run.write(tmp_path / "out")
    rows = jinx.open(out).to_list()
    assert [(row["n"], row["twice"]) for row in rows] == [(n, 2 * n) for n in range(58, -1, -2)]
    (other,) = [facts for kind, facts in run.events if kind == "other"]
    assert other["rows"] == 30
    # Blocks are told before what is decided about them.
    kinds = [kind for kind, _ in run.events if kind in {"blocks", "phase", "block", "task"}]
    until_decided = ["blocks", "block", "phase", "task"]
    assert [kind for kind, _ in groupby(kinds)] == [*until_decided, *until_decided, "blocks", "block"]


def test_a_block_that_is_divided_gives_the_same_bytes(data, tmp_path):
    """A row that kills its worker divides its block at both nodes that meet it."""

    def deadly(sample):
        import os
        import signal

        if sample["n"] == 24:
            os.kill(os.getpid(), signal.SIGKILL)
        return sample

    def gone(sample):
        if sample["n"] == 24:
            raise ValueError("gone")
        return sample

    out = []
    for name, function in (("killed", deadly), ("failed", gone)):
        mapper = jp.Dataset.load(data).process(function).recipe.steps[0].operator
        what = recipe(
            data,
            [step(mapper), words(3, (StepPort(0),)), step("clean_links_mapper", StepPort(0))],
            outputs=[(StepPort(1), StepPort(2))],
        )
        run = GraphRun(what, tmp_path / name, workers=2)
        assert run.run()
        (path,) = run.write(tmp_path / f"{name}-out")
        out.append(path)
    assert 24 not in numbers(out[0])
    assert out[0].read_bytes() == out[1].read_bytes()


def test_a_recipe_with_branches_is_exported(data, tmp_path):
    what = replace(diamond(data), export=Export(str(tmp_path / "out.jinx")))
    assert jp.Run(what)().ok
    again = replace(what, export=Export(str(tmp_path / "again")), options=replace(what.options, workers=1))
    assert jp.Run(again)().rows_out == len(numbers(tmp_path / "out.jinx"))
    assert digest(tmp_path / "again") != ""
    with pytest.raises(RecipeError, match=r"another output writes to .*two\.jinx too"):
        jp.Run(replace(kept_and_dropped(data), export=Export(str(tmp_path / "two.jinx"))))()
    assert not (tmp_path / "two.jinx.work").exists()


@pytest.mark.parametrize("other", ["link/two.jinx", "real/../real/two.jinx"])
def test_two_names_of_one_output_are_refused(data, tmp_path, other):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    exports = [Export(str(tmp_path / name)) for name in ("real/two.jinx", other)]
    with pytest.raises(RecipeError, match=r"another output writes to .*two\.jinx too"):
        jp.Run(kept_and_dropped(data).with_exports(exports))()
    assert not list((tmp_path / "real").iterdir())


def test_a_log_with_a_node_that_the_plan_does_not_have_is_refused(data, tmp_path):
    run = GraphRun(chain(data), tmp_path / "work")
    assert not run.run(stop_after=1)
    with WorkDir(tmp_path / "work") as work_dir, Ledger(work_dir.current()) as ledger:
        ledger.claim()
        ledger.commit(Task("2.0", 0, 0, 7), 99, Receipt(None, 0))
    with pytest.raises(RunLogError, match=r"log\.jsonl: the plan has no node 2\.0; start over"):
        run.run()


def test_a_row_of_the_joined_dataset_that_fails_stops_the_run(data, tmp_path, monkeypatch):
    what = joined(data)
    monkeypatch.setattr(Ledger, "bad_rows_of", lambda *_: [BadRow(4, "join", "broken")])
    with pytest.raises(RepairError, match=r"other\.jinx, row 4, join: broken.*a join needs the keys of all rows"):
        GraphRun(what, tmp_path / "work").run()


def test_an_output_is_written_by_tasks_when_its_rows_are_there(data, tmp_path):
    for generation in (0, 1):
        outputs = CountedOutputs(tmp_path / f"seen{generation}", generation)
        run = GraphRun(chain(data), tmp_path / "work", outputs=outputs)
        assert run.run()
        assert sorted(path.name for path in tmp_path.glob(f"seen{generation}.*")) == [
            f"seen{generation}.{block}" for block in (3, 5)
        ]
        assert sorted(outputs.committed_blocks) == [("pack", 3), ("pack", 5)]
        # Its rows were made in the first generation.
        assert (not run.done) == bool(generation)
