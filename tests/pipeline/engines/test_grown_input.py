"""An input that has grown costs only its new samples, also where operators look at all of them."""

import json
import os
import signal
import sqlite3
from contextlib import closing

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline import ChangedError
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.plan.file_digest import head_digest
from jinx_pipeline.plan.inputs import has_grown
from jinx_pipeline.recipe.read import read_recipe
from jinx_pipeline.run import Run
from jinx_pipeline.runlog.ledger import Ledger
from pipeline.made import rows_of

OPTIONS = {"workers": 1, "block_rows": 40}
WORDS = [f"w{number}" for number in range(40)]


def text_of(n):
    """A text that every seventh sample repeats, and of which others differ in many words."""
    n = n - 7 if n % 7 == 3 and n >= 7 else n
    return " ".join(f"{word}-{n}" for word in WORDS)


def write_lines(path, first, last, mode="w"):
    with path.open(mode) as file:
        file.writelines(json.dumps({"n": n, "text": text_of(n)}) + "\n" for n in range(first, last))
    return path


def add_shard(folder, number, first, last):
    folder.mkdir(exist_ok=True)
    with jinx.Writer(folder / f"{number}.jinx") as writer:
        writer.write_many({"n": n, "text": text_of(n)} for n in range(first, last))


def tasks_of(work_dir, skip=0):
    """The blocks that workers have processed, by the kind of their node."""
    events = [json.loads(line) for line in (work_dir / "events.jsonl").read_text().splitlines()[skip:]]
    return [event for event in events if event["kind"] in {"block", "task"}]


def count_lines(work_dir):
    return len((work_dir / "events.jsonl").read_text().splitlines())


CHAINS = {
    "exact": [jp.ops.TextLengthFilter(min_len=1), jp.create("document_deduplicator"), jp.ops.WordsNumFilter()],
    "minhash": [jp.create("document_minhash_deduplicator"), jp.ops.WordsNumFilter()],
    "both": [jp.create("document_deduplicator"), jp.ops.WordsNumFilter(), jp.create("document_minhash_deduplicator")],
    "lines": [jp.create("document_line_deduplicator", frequency_threshold=1), jp.ops.TextLengthFilter()],
    "sort": [jp.create("sort", by=["-n"]), jp.ops.WordsNumFilter()],
    "shuffle": [jp.create("shuffle"), jp.ops.WordsNumFilter()],
    "dedup_then_sort": [jp.create("document_deduplicator"), jp.create("sort", by=["-n"])],
    "top": [jp.create("topk_specified_field_selector", field_key="n", topk=30)],
}


@pytest.mark.parametrize(
    ("name", "out"), [*((name, "out.jinx") for name in CHAINS), ("exact", "out"), ("minhash", "out"), ("sort", "out")]
)
def test_the_output_is_that_of_a_run_from_scratch(tmp_path, name, out):
    data = write_lines(tmp_path / "in.jsonl", 0, 100)
    flow = Dataset.load(data).process(CHAINS[name])
    for last in (100, 171, 230) if name == "both" else (100, 171):
        write_lines(data, 0, last)
        done = flow.export(tmp_path / out, **OPTIONS)
        assert (done.rows_in, done.ok) == (last, True)
        fresh = tmp_path / f"{last}{'' if out == 'out' else '.jinx'}"
        once = flow.export(fresh, **OPTIONS)
        assert rows_of(tmp_path / out) == rows_of(fresh)
        counts = [(item.operator, item.rows_in, item.rows_out) for item in done.operators]
        assert counts == [(item.operator, item.rows_in, item.rows_out) for item in once.operators]
        if out != "out":
            assert (tmp_path / out).read_bytes() == fresh.read_bytes()
    assert flow.export(tmp_path / out, **OPTIONS).resumed


@pytest.mark.parametrize("name", ["exact", "minhash", "both"])
def test_only_blocks_of_new_shards_are_processed(tmp_path, name):
    source, out = tmp_path / "in", tmp_path / "out"
    add_shard(source, 0, 0, 400)
    flow = Dataset.load(source).process(CHAINS[name])
    flow.export(out, **OPTIONS)
    stages = len({task["node"] for task in tasks_of(tmp_path / "out.work") if task["kind"] == "block"})
    before = {file.name: file.stat().st_ino for file in out.iterdir() if file.suffix == ".jinx"}
    assert before
    skip = count_lines(tmp_path / "out.work")
    add_shard(source, 1, 400, 440)
    flow.export(out, **OPTIONS)
    again = [task for task in tasks_of(tmp_path / "out.work", skip) if task["kind"] == "block"]
    assert len(again) == stages  # one block of each stage
    assert max(task["rows"] for task in again) <= 40
    after = {file.name: file.stat().st_ino for file in out.iterdir() if file.suffix == ".jinx"}
    assert before.items() <= after.items() or set(before.values()) <= set(after.values())


def test_a_sample_that_joins_two_clusters_removes_one_of_the_output(tmp_path):
    """A run from scratch leaves the first sample of the joined cluster, so the output is written again."""
    left, right = [f"a{n}" for n in range(60)], [f"b{n}" for n in range(60)]
    data = tmp_path / "in.jsonl"
    texts = [" ".join(left), " ".join(right), "something else entirely " * 5]
    data.write_text("".join(json.dumps({"n": n, "text": text}) + "\n" for n, text in enumerate(texts)))
    near = jp.create("document_minhash_deduplicator", jaccard_threshold=0.3, window_size=1)
    flow = Dataset.load(data).process([near, jp.ops.WordsNumFilter()])
    assert [row["n"] for row in rows_of_export(flow, tmp_path / "out")] == [0, 1, 2]
    with data.open("a") as file:
        file.write(json.dumps({"n": 3, "text": " ".join([*left, *right])}) + "\n")
        file.write(json.dumps({"n": 4, "text": "and a new one " * 5}) + "\n")
    assert [row["n"] for row in rows_of_export(flow, tmp_path / "out")] == [0, 2, 4]
    assert [row["n"] for row in rows_of_export(flow, tmp_path / "fresh")] == [0, 2, 4]


def rows_of_export(flow, out):
    flow.export(out, **OPTIONS)
    return rows_of(out)


def test_groups_are_made_again(tmp_path):
    data = write_lines(tmp_path / "in.jsonl", 0, 100)
    total = jp.create("field_aggregator", columns={"rest": "first:rest", "total": "sum:n"})
    rest = jp.create("key_value_grouper", group_by_keys=["rest"])
    for last in (100, 150):
        data.write_text("".join(json.dumps({"n": n, "rest": n % 10}) + "\n" for n in range(last)))
        Dataset.load(data).process([rest, total]).export(tmp_path / "out", **OPTIONS)
        totals = [(row["rest"], row["total"]) for row in rows_of(tmp_path / "out")]
        assert totals == [(rest, sum(range(rest, last, 10))) for rest in range(10)]


GRAPH = """\
nodes:
  in: {source: in.jsonl}
  unique: {operators: [document_deduplicator]}
  even: {operators: [specified_numeric_field_filter: {field_key: n, max_value: 60}]}
  all: {operators: [words_num_filter: {}]}
  out: {sink: OUT}
  rejected: {sink: OUT-rejected}
flows:
  - {from: in, to: even}
  - {from: even, to: unique}
  - {from: [unique, even.dropped], to: all}
  - {from: all, to: out}
  - {from: even.dropped, to: rejected}
workers: 1
block_rows: 40
"""


def test_branches_that_come_together_are_made_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = write_lines(tmp_path / "in.jsonl", 0, 100)
    for last in (100, 150):
        write_lines(data, 0, last)
        for name in ("out", f"fresh{last}"):
            (tmp_path / f"{name}.yaml").write_text(GRAPH.replace("OUT", name) + f"work_dir: {name}.work\n")
            Run(read_recipe(f"{name}.yaml"))()
        for ending in ("", "-rejected"):
            assert rows_of(tmp_path / f"out{ending}") == rows_of(tmp_path / f"fresh{last}{ending}")


def test_a_recipe_that_joins_or_mixes_is_refused_by_name(tmp_path):
    data = write_lines(tmp_path / "in.jsonl", 0, 50)
    with jinx.Writer(tmp_path / "more.jinx") as writer:
        writer.write_many({"n": n, "label": n} for n in range(100))
    joined = Dataset.load(data).process(jp.create("join", path=str(tmp_path / "more.jinx"), on=["n"]))
    mixed = Dataset.load(jp.SourceSpec(str(data), max_samples=40)).process(jp.ops.WordsNumFilter())
    for name, flow in (("joined", joined), ("mixed", mixed)):
        flow.export(tmp_path / name, **OPTIONS)
    write_lines(data, 50, 60, "a")
    with pytest.raises(ChangedError, match="the input has grown, and join joins all rows at once"):
        joined.export(tmp_path / "joined", **OPTIONS)
    with pytest.raises(ChangedError, match="the input has grown, and this recipe chooses or mixes rows"):
        mixed.export(tmp_path / "mixed", **OPTIONS)


TABLE = """\
nodes:
  in: {source: in.jsonl}
  some: {operators: [OPERATOR]}
  listed: {sink: {database: listed.db, table: samples, key: n, columns: {n: int}}}
  out: {sink: out}
flows:
  - {from: in, to: some}
  - {from: some, to: listed}
  - {from: listed, to: out}
workers: 1
block_rows: 40
"""


@pytest.mark.parametrize(
    ("operator", "is_refused"),
    [
        ("document_deduplicator", False),
        ("topk_specified_field_selector: {field_key: n, topk: 30}", True),
    ],
)
def test_a_table_keeps_no_row_of_a_sample_that_is_left_out_now(tmp_path, monkeypatch, operator, is_refused):
    monkeypatch.chdir(tmp_path)
    data = write_lines(tmp_path / "in.jsonl", 0, 50)
    (tmp_path / "r.yaml").write_text(TABLE.replace("OPERATOR", operator))
    run = Run(read_recipe("r.yaml"))
    run()
    old = rows_of(tmp_path / "out")
    write_lines(data, 50, 70, "a")
    for _ in range(2):
        if is_refused:
            with pytest.raises(ChangedError, match="the samples for the table samples are others now; remove its rows"):
                run()
            assert rows_of(tmp_path / "out") == old
        else:
            run()
    with closing(sqlite3.connect("listed.db")) as database:
        listed = [n for (n,) in database.execute("SELECT n FROM samples ORDER BY n")]
    assert listed == [row["n"] for row in rows_of(tmp_path / "out")]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", ["exact", "dedup_then_sort"])
def test_killed_at_each_record_of_a_grown_run(tmp_path, name):
    data = write_lines(tmp_path / "in.jsonl", 0, 100)
    flow, out = Dataset.load(data).process(CHAINS[name]), tmp_path / "out"
    flow.export(out, **OPTIONS)
    old = rows_of(out)
    write_lines(data, 100, 180, "a")
    fresh = flow.export(tmp_path / "fresh", **OPTIONS)
    expected = rows_of(tmp_path / "fresh")
    real, kills = Ledger.record, 0
    while kills < 30:
        child = os.fork()
        if child == 0:
            left = 1

            def record(self, what):
                nonlocal left
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
                real(self, what)

            try:
                Ledger.record = record
                flow.export(out, **OPTIONS)
                os._exit(0)
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert rows_of(out) in (old, expected)
        if status == 0:
            break
        assert status == -signal.SIGKILL
        kills += 1
    assert kills > 3
    done = flow.export(out, **OPTIONS)
    assert (done.rows_in, done.rows_out) == (180, fresh.rows_out)
    assert rows_of(out) == expected


@pytest.mark.parametrize(
    ("before", "line_end"), [("", ""), ("\n", ""), ('{"n": 0, "text": "w"}', "\n"), ('{"n": 0, "text": "w"}', "\r\n")]
)
def test_lines_are_appended_to_a_file_without_lines_or_without_a_last_line_end(tmp_path, before, line_end):
    data, flow = tmp_path / "in.jsonl", Dataset.load(tmp_path / "in.jsonl").process(jp.ops.TextLengthFilter(min_len=1))
    data.write_text(before)
    flow.export(tmp_path / "out", **OPTIONS)
    numbers = [row["n"] for row in rows_of(tmp_path / "out")]
    assert len(numbers) == before.count("n")
    data.write_text(before + line_end, newline="")
    write_lines(data, 1, 60, "a")
    flow.export(tmp_path / "out", **OPTIONS)
    assert [row["n"] for row in rows_of(tmp_path / "out")] == [*numbers, *range(1, 60)]


def test_a_last_line_that_goes_on_is_another_input(tmp_path):
    data = tmp_path / "in.jsonl"
    data.write_text("1")
    old = {"format": "jsonl", "samples": 1, "bytes": 1, "sha256": head_digest(str(data), 1)}
    for text, is_grown in (("1\n3\n", True), ("1\r\n3\r\n", True), ("12\n3\n", False), ("12\r\n3\n", False)):
        data.write_text(text, newline="")
        assert has_grown(old, {"format": "jsonl", "samples": 2}, str(data)) == is_grown
