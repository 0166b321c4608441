"""Whole runs on local workers: the same bytes whatever happens."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import accumulate
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from bench.ray.opens import opens
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.replay import replay_of
from jinx_pipeline.run import ChangedError, Run
from jinx_pipeline.runlog.records import VERSION
from pipeline.made import (
    Killer,
    digest,
    lines_of,
    loaded_operators,
    log_of,
    records_of,
    rows_of,
    worker_pids,
    write_input,
)

# Rows that fail are what several tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::jinx_pipeline.BadRowsWarning")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx")


@pytest.fixture(scope="module")
def wrong():
    return loaded_operators()


def recipe(data, seconds=0.0):
    return Dataset.load(data).process(
        [
            jp.ops.TextLengthFilter(max_len=75),
            jp.create("slow_filter", seconds=seconds),
            jp.ops.CleanLinksMapper(),
            jp.create("fragile_mapper"),
        ]
    )


def expected(data):
    for sample in rows_of(data):
        if sample["n"] % 3 and len(sample["text"]) <= 75:
            yield sample["n"], 2 * sample["n"]


@pytest.fixture(scope="module")
def calm(data, wrong, tmp_path_factory):
    """The output of a run with one worker in which nothing happens."""
    out = tmp_path_factory.mktemp("calm") / "out"
    result = recipe(data).export(out, workers=1, block_rows=40, custom_operators=(str(wrong),))
    assert result.ok
    assert [(row["n"], row["twice"]) for row in rows_of(out)] == list(expected(data))
    return out


def test_the_output_holds_what_the_operators_made(calm, data):
    rows = rows_of(calm)
    stored = {row["n"]: row for row in rows_of(data)}
    assert all("http" not in row["text"] for row in rows)
    assert all(row["image"] == stored[row["n"]]["image"] and row["id"] == stored[row["n"]]["id"] for row in rows)
    assert all(row["__dj__stats__"]["n_rest"] == row["n"] % 3 for row in rows)
    indexed = {sample.path for sample in jinx.open(calm).info().indexed}
    assert {"__dj__stats__.text_len", "__dj__stats__.n_rest"} <= indexed
    assert jinx.verify(calm) == []


def test_four_workers_give_the_same_bytes(calm, data, wrong, tmp_path):
    recipe(data).export(tmp_path / "out", workers=4, block_rows=40, custom_operators=(str(wrong),))
    assert digest(tmp_path / "out") == digest(calm)


@pytest.mark.parametrize("batch_rows", [7, 1000])
def test_the_size_of_batches_changes_no_sample(calm, data, wrong, tmp_path, batch_rows):
    recipe(data).export(
        tmp_path / "out", workers=2, block_rows=40, batch_rows=batch_rows, custom_operators=(str(wrong),)
    )
    assert digest(tmp_path / "out") == digest(calm)


@pytest.mark.slow
def test_killed_workers_change_nothing(calm, data, wrong, tmp_path):
    out = tmp_path / "out"
    with Killer(2, tmp_path / "out.work") as killer:
        result = recipe(data, seconds=0.004).export(out, workers=2, block_rows=40, custom_operators=(str(wrong),))
    assert killer.killed == 2
    assert result.ok
    assert digest(out) == digest(calm)


DRIVER = """
import sys
import jinx_pipeline as jp
sys.path.insert(0, sys.argv[4])
from pipeline.engines.test_runs import recipe
jp.load_file(sys.argv[3])
recipe(sys.argv[1], seconds=float(sys.argv[5])).export(
    sys.argv[2], workers=2, block_rows=40, custom_operators=(sys.argv[3],))
"""


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_a_killed_driver_resumes_without_opening_what_is_done(calm, data, wrong, tmp_path, share):
    out, work_dir = tmp_path / "out", tmp_path / "out.work"
    tests = Path(__file__).parents[2]
    arguments = [str(data), str(out), str(wrong), str(tests), "0.004"]
    root = Path(jp.__file__).parents[1]
    # The last blocks are held, so that it cannot end before it is killed.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(tests)]), "SLOW_FILTER_HOLDS": "340"}
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments], env=environment, stderr=subprocess.PIPE)
    while lines_of(log_of(work_dir)) < 10 * share:
        time.sleep(0.01)
        assert driver.poll() is None, driver.stderr.read() if driver.stderr else None
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    done = {record["block"] for record in records_of(work_dir, "committed")}
    assert not out.exists()
    events = tmp_path / "out.work" / "events.jsonl"
    before = lines_of(events)
    result = recipe(data, seconds=0.004).export(out, workers=2, block_rows=40, custom_operators=(str(wrong),))
    assert result.resumed
    again = [json.loads(line) for line in events.read_text().splitlines()[before:]]
    assert not done & {item["block"] for item in again if item["kind"] == "block"}
    assert digest(out) == digest(calm)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the workers then")
def test_a_worker_that_is_stopped_ends_with_its_driver(data, wrong, tmp_path):
    tests = Path(__file__).parents[2]
    arguments = [str(data), str(tmp_path / "out"), str(wrong), str(tests), "0.05"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(jp.__file__).parents[1]), str(tests)])}
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments], env=environment, stderr=subprocess.DEVNULL)
    while not lines_of(tmp_path / "out.work" / "events.jsonl"):
        time.sleep(0.01)
        assert driver.poll() is None
    until = time.monotonic() + 60
    while not (workers := worker_pids(driver.pid)) or not all(map(is_watched, workers)):
        time.sleep(0.01)
        assert time.monotonic() < until
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    driver.kill()
    driver.communicate()
    while any(map(is_running, workers)):
        time.sleep(0.01)
        assert time.monotonic() < until


def is_watched(pid):
    """Whether a worker has come as far as its first thread."""
    return len(list(Path(f"/proc/{pid}/task").iterdir())) > 1


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_a_resumed_run_opens_no_shard_whose_rows_are_finished(data, wrong, tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    with jinx.Writer(source, shard_size=2000) as writer:
        writer.copy(jinx.open(data))
    shards = json.loads((source / "jinx.json").read_bytes())["shards"]
    assert len(shards) > 16  # of fewer, all are opened at once
    flow = Dataset.load(source).process([jp.ops.TextLengthFilter(), jp.create("fragile_mapper", raises=[200])])
    options = {"workers": 1, "block_rows": 40, "custom_operators": (str(wrong),)}
    with pytest.raises(StoppedError):
        flow.export(out, stop_after_bad=0, **options)
    done = {record["block"] for record in records_of(tmp_path / "out.work", "committed")}
    assert done == set(range(6))
    with opens(source) as counted:
        assert flow.export(out, stop_after_bad=None, max_bad_rows=1, **options).resumed
    ends = list(accumulate(shard["samples"] for shard in shards))
    finished = {shard["name"] for shard, end in zip(shards, ends, strict=True) if end <= 6 * 40}
    assert len(finished) > 5
    assert {name for name in counted if name.endswith(".jinx")} == {shard["name"] for shard in shards} - finished
    assert not {name for name in counted if Path(name).with_suffix(".jinx").name in finished}


def test_a_finished_run_is_not_run_again(calm, data, wrong):
    result = recipe(data).export(calm, workers=1, block_rows=40, custom_operators=(str(wrong),))
    assert result.resumed
    assert result.rows_out == len(rows_of(calm))


def test_an_output_that_was_removed_is_not_taken_for_done(data, tmp_path):
    """It is made of the parts again where they are still there; those of a directory have become its shards."""
    flow = Dataset.load(data).process(jp.ops.TextLengthFilter(max_len=75))
    for kind in ("jinx", "view"):
        out = tmp_path / f"{kind}.jinx"
        rows = flow.export(out, kind=kind, workers=1).rows_out
        before = out.read_bytes()
        out.unlink()
        again = flow.export(out, kind=kind, workers=1)
        assert (again.rows_out, again.resumed, len(jinx.open(out))) == (rows, True, rows)
        assert kind == "view" or out.read_bytes() == before
    flow.export(tmp_path / "out", workers=1)
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(ChangedError, match=r"is gone, with its parts; start over with restart=True, overwrite=True"):
        flow.export(tmp_path / "out", workers=1)
    assert flow.export(tmp_path / "out", workers=1, restart=True).rows_out > 0


def test_another_recipe_is_refused_with_the_difference(calm, data, wrong):
    changed = Dataset.load(data).process([jp.ops.TextLengthFilter(max_len=60)])
    with pytest.raises(ChangedError, match="belongs to another recipe: process"):
        changed.export(calm, workers=1, block_rows=40)
    shorter = Dataset.load(data).process([jp.ops.TextLengthFilter(max_len=70)])
    shorter = shorter.process([step.operator for step in recipe(data).recipe.steps[1:]])
    with pytest.raises(ChangedError, match=r"process\[0\]\.parameters\.max_len: 75 -> 70"):
        shorter.export(calm, workers=1, block_rows=40)


@pytest.mark.parametrize("other", [VERSION - 1, 99])
def test_a_log_of_another_version_is_refused_with_the_remedy(data, tmp_path, other):
    flow = Dataset.load(data).process(jp.ops.TextLengthFilter(max_len=75))
    flow.export(tmp_path / "out", workers=1)
    path = log_of(tmp_path / "out.work")
    path.write_text(path.read_text().replace(f'"version":{VERSION}', f'"version":{other}', 1))
    match = (
        rf"log\.jsonl is of version {other}, and this program reads version {VERSION}; .*, or start over with restart"
    )
    with pytest.raises(ChangedError, match=match):
        flow.export(tmp_path / "out", workers=1)
    assert flow.export(tmp_path / "out", workers=1, restart=True, overwrite=True).ok


def test_one_row_that_raises_is_the_only_one_lost(data, wrong, tmp_path):
    flow = Dataset.load(data).process(jp.create("fragile_mapper", raises=[123]))
    result = flow.export(tmp_path / "out", workers=2, block_rows=100, custom_operators=(str(wrong),))
    assert not result.ok
    assert [(bad.row, bad.operator, bad.error) for bad in result.bad_rows] == [
        (123, "fragile_mapper", "ValueError: this row is bad")
    ]
    assert [row["n"] for row in rows_of(tmp_path / "out")] == [n for n in range(400) if n != 123]


def test_one_row_that_kills_its_worker_is_the_only_one_lost(data, wrong, tmp_path):
    flow = Dataset.load(data).process(jp.create("fragile_mapper", kills=[123]))
    result = flow.export(tmp_path / "out", workers=2, block_rows=100, custom_operators=(str(wrong),))
    assert [(bad.row, bad.operator, bad.error) for bad in result.bad_rows] == [
        (123, "fragile_mapper", "the worker died: killed by SIGSEGV")
    ]
    assert [row["n"] for row in rows_of(tmp_path / "out")] == [n for n in range(400) if n != 123]


@pytest.mark.slow
def test_a_block_that_was_divided_gives_the_same_bytes(data, wrong, tmp_path):
    """The row is lost either way: once because it raises, once because it kills."""
    for way in ("raises", "kills"):
        flow = Dataset.load(data).process(jp.create("fragile_mapper", **{way: [123]}))
        flow.export(tmp_path / way, workers=2, block_rows=100, custom_operators=(str(wrong),))
    assert digest(tmp_path / "raises") == digest(tmp_path / "kills")


def test_too_many_bad_rows_stop_the_run_and_it_can_be_resumed(data, wrong, tmp_path):
    flow = Dataset.load(data).process(jp.create("fragile_mapper", raises=list(range(100))))
    options = {"workers": 2, "block_rows": 40, "custom_operators": (str(wrong),)}
    with pytest.raises(StoppedError, match="more than stop_after_bad=10"):
        flow.export(tmp_path / "out", stop_after_bad=10, **options)
    with pytest.raises(StoppedError, match="allow more to continue"):
        flow.export(tmp_path / "out", stop_after_bad=10, **options)
    assert not (tmp_path / "out").exists()
    result = flow.export(tmp_path / "out", stop_after_bad=None, max_bad_rows=100, **options)
    assert result.ok
    assert result.rows_out == 300


@pytest.mark.slow
def test_a_worker_above_its_memory_limit_costs_one_row(data, wrong, tmp_path):
    flow = Dataset.load(data).process(jp.create("hungry_mapper", rows=[7], megabytes=600))
    result = flow.export(tmp_path / "out", workers=1, block_rows=200, memory="400MB", custom_operators=(str(wrong),))
    (bad,) = result.bad_rows
    assert (bad.row, bad.operator) == (7, "hungry_mapper")
    assert bad.error.startswith("the worker exceeded its memory limit: killed: it used more than 400,000,000 bytes")
    assert result.rows_out == 399


@pytest.mark.slow
def test_one_file_a_view_and_a_directory_hold_the_same(calm, data, wrong, tmp_path):
    for out, options in ((tmp_path / "one.jinx", {}), (tmp_path / "view.jinx", {"kind": "view"})):
        recipe(data).export(out, workers=2, block_rows=40, custom_operators=(str(wrong),), **options)
        assert rows_of(out) == rows_of(calm)
    view = jinx.open(tmp_path / "view.jinx").info()
    assert [base.path for base in view.bases] == [str(data)]


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_other_formats_hold_the_same(calm, data, wrong, tmp_path, name):
    recipe(data).export(tmp_path / name, workers=2, block_rows=40, custom_operators=(str(wrong),))
    assert [sample["n"] for sample in jinx.stream(tmp_path / name)] == [row["n"] for row in rows_of(calm)]


def test_grown_json_lines_process_the_new_rows_alone(wrong, tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_text("".join(json.dumps({"n": n, "text": f"text {n}"}) + "\n" for n in range(100)))
    flow = Dataset.load(source).process(jp.create("slow_filter"))
    options = {"workers": 1, "block_rows": 40, "custom_operators": (str(wrong),)}
    assert flow.export(out, **options).rows_out == 66
    with source.open("a") as file:
        file.writelines(json.dumps({"n": n, "text": "new"}) + "\n" for n in range(100, 160))
    events = tmp_path / "out.work" / "events.jsonl"
    before = lines_of(events)
    assert flow.export(out, **options).rows_out == 106
    again = [json.loads(line) for line in events.read_text().splitlines()[before:]]
    assert {item["block"] for item in again if item["kind"] == "block"} == {3, 4}
    assert [row["n"] for row in rows_of(out)] == [n for n in range(160) if n % 3]


def test_a_changed_input_is_refused(wrong, tmp_path):
    source = write_input(tmp_path / "in.jinx", 50)
    flow = Dataset.load(source).process(jp.create("slow_filter"))
    flow.export(tmp_path / "out", custom_operators=(str(wrong),))
    with jinx.Writer(source, overwrite=True) as writer:
        writer.write_many({"n": n, "text": "other"} for n in range(50))
    with pytest.raises(ChangedError, match="the input changed"):
        flow.export(tmp_path / "out", custom_operators=(str(wrong),))


def test_a_broken_json_line_is_the_only_one_lost(wrong, tmp_path):
    source = tmp_path / "in.jsonl"
    lines = [json.dumps({"n": n, "text": f"text {n}"}) for n in range(300)]
    lines[217] = '{"n": 217, "text": '
    source.write_text("\n".join(lines) + "\n")
    flow = Dataset.load(source).process(jp.create("fragile_mapper"))
    result = flow.export(tmp_path / "out", workers=1, custom_operators=(str(wrong),))
    assert [bad.row for bad in result.bad_rows] == [217]
    assert [row["n"] for row in rows_of(tmp_path / "out")] == [n for n in range(300) if n != 217]
    assert not result.ok


def test_an_input_without_samples_gives_an_output_without_samples(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx"):
        pass
    flow = Dataset.load(tmp_path / "in.jinx").process([jp.ops.TextLengthFilter(), jp.ops.DocumentDeduplicator()])
    for name in ("out", "out.jinx"):
        result = flow.export(tmp_path / name, workers=1)
        assert (result.rows_in, result.rows_out, result.ok) == (0, 0, True)
        assert rows_of(tmp_path / name) == []


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("how", ["directory", "sources"])
def test_an_input_that_is_partly_empty_is_like_its_other_parts(tmp_path, place, how):
    """An empty file knows no columns, and a block of a global operator may have no row of it."""
    (tmp_path / "in").mkdir()
    paths = [tmp_path / "in" / f"{number}.jinx" for number in range(3)]
    for number, path in enumerate(paths):
        with jinx.Writer(path) as writer:
            writer.write_many({"n": n, "text": f"text {n}"} for n in range(0 if number == place else 5))
    flow = Dataset.load(tmp_path / "in" if how == "directory" else [str(path) for path in paths])
    steps = [jp.ops.TextLengthFilter(min_len=1), jp.ops.DocumentDeduplicator(), jp.ops.CleanLinksMapper()]
    for name in ("out", "out.jinx", "out.jsonl"):
        result = flow.process(steps).export(tmp_path / name, workers=1, block_rows=3)
        assert (result.rows_in, result.rows_out, result.ok) == (10, 5, True)
        found = jinx.stream(tmp_path / name) if name == "out.jsonl" else jinx.open(tmp_path / name)
        assert [(row["n"], row["text"]) for row in found] == [(n, f"text {n}") for n in range(5)]


def test_an_operator_that_exits_costs_its_row_alone(data, tmp_path):
    def leave(sample):
        if sample["n"] == 50:
            sys.exit("enough")
        return sample

    result = Dataset.load(data).process(leave).export(tmp_path / "out.jinx", workers=1)
    assert result.rows_out == 399
    assert [(bad.row, bad.operator, bad.error) for bad in result.bad_rows] == [(50, "leave", "SystemExit: enough")]


def test_process_takes_one_name_and_says_what_it_cannot_take(data):
    assert [item.operator.name for item in Dataset.load(data).process("clean_links_mapper").recipe.steps] == [
        "clean_links_mapper"
    ]
    with pytest.raises(KeyError, match="did you mean 'clean_links_mapper'"):
        Dataset.load(data).process("clean_linkz_mapper")
    with pytest.raises(TypeError, match="not int"):
        Dataset.load(data).process(3)


def test_a_row_that_ends_its_worker_is_reported_with_the_operator(data, tmp_path):
    def leave(sample):
        if sample["n"] == 50:
            os._exit(7)
        return sample

    result = Dataset.load(data).process(leave).export(tmp_path / "out.jinx", workers=1, block_rows=100)
    assert [(bad.row, bad.operator, bad.error) for bad in result.bad_rows] == [
        (50, "leave", "the worker died: ended with code 7")
    ]
    assert result.rows_out == 399


def test_a_view_of_which_no_row_remains_opens_without_samples(data, tmp_path):
    flow = Dataset.load(data).process(jp.ops.TextLengthFilter(min_len=100_000))
    assert flow.export(tmp_path / "none.jinx", workers=1, kind="view").rows_out == 0
    assert rows_of(tmp_path / "none.jinx") == []


def test_options_are_checked_before_anything_runs(data, tmp_path):
    flow = Dataset.load(data)
    for options, what in (
        ({"workers": "x"}, "workers is int or None, not 'x'"),
        ({"workers": 0}, "workers is at least 1, not 0"),
        ({"batch_rows": -3}, "batch_rows is at least 1"),
        ({"memory": "much"}, "much"),
        ({"kind": "parquet"}, "not a name for kind: parquet; the name of parquet ends in .parquet"),
    ):
        with pytest.raises((TypeError, ValueError), match=what):
            flow.export(tmp_path / "out.jinx", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("blank", ["", "\n"])
def test_rows_after_a_broken_line_are_counted_with_it(wrong, tmp_path, blank):
    """Row numbers are those of the file, in the report and in what a replay reads."""
    lines = [json.dumps({"n": n, "text": f"text {n}"}) for n in range(60)]
    lines[7] = lines[30] = "{"
    for name, first in (("a.jsonl", lines[:40]), ("b.jsonl", lines[40:])):
        (tmp_path / name).write_text(blank + "\n".join(first) + "\n")
    flow = Dataset.load([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    flow = flow.process(jp.create("fragile_mapper", raises=[3, 20, 35, 50]))
    result = flow.export(tmp_path / "out", workers=1, custom_operators=(str(wrong),))
    found = {(Path(bad.source).name, bad.row, bad.operator) for bad in result.bad_rows}
    assert found == {
        *(("a.jsonl", row, "reading the input") for row in (7, 30)),
        *(("a.jsonl", row, "fragile_mapper") for row in (3, 20, 35)),
        ("b.jsonl", 10, "fragile_mapper"),
    }
    replayed = Run(replay_of(tmp_path / "out.work", str(tmp_path / "rest")))()
    assert {(Path(bad.source).name, bad.row, bad.operator) for bad in replayed.bad_rows} == found
    assert replayed.rows_in == 4


@pytest.mark.parametrize("name", ["in.jinx", "in.jsonl"])
def test_a_replay_refuses_another_input(wrong, tmp_path, name):
    """Of the rows that failed, only the positions are known."""
    path, out = tmp_path / name, tmp_path / "out.jinx"

    def write(first):
        samples = [{"n": n, "text": "t"} for n in range(first, first + 20)]
        if path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        else:
            with jinx.Writer(path, overwrite=True) as writer:
                writer.write_many(samples)

    write(0)
    flow = Dataset.load(path).process(jp.create("fragile_mapper", raises=[3]))
    flow.export(out, workers=1, custom_operators=(str(wrong),))
    write(100)
    with pytest.raises(ChangedError, match="has changed since these rows failed; run the recipe again"):
        replay_of(tmp_path / "out.jinx.work", "rest.jinx")
    write(0)
    assert replay_of(tmp_path / "out.jinx.work", "rest.jinx").only_rows == (3,)


def test_a_replay_says_what_to_do_instead(data, wrong, tmp_path):
    out = tmp_path / "out.jinx"
    flow = Dataset.load(data).process("document_deduplicator")
    flow.export(out, workers=1)
    with pytest.raises(ValueError, match="nothing failed; there is nothing to replay"):
        replay_of(tmp_path / "out.jinx.work", "rest.jinx")
    flow = flow.process(jp.create("fragile_mapper", raises=[3]))
    flow.export(out, workers=1, restart=True, overwrite=True, custom_operators=(str(wrong),))
    with pytest.raises(ValueError, match=r"run the recipe again: start over with .*--restart --overwrite"):
        replay_of(tmp_path / "out.jinx.work", "rest.jinx")
    log_of(tmp_path / "out.jinx.work").with_name("recipe.json").write_text("")
    with pytest.raises(ValueError, match=r"recipe\.json: damaged .*; resume with the recipe itself"):
        replay_of(tmp_path / "out.jinx.work", "rest.jinx")
