"""What lies in a working directory or in the place of an output is believed only where it belongs to this run."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline import ChangedError, SourceSpec
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.runlog.ledger import Ledger
from pipeline.made import digest

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

KINDS = [("out", None), ("out.jinx", None), ("out.jsonl", None), ("out.parquet", None), ("v.jinx", "view")]


def lines(path, first, last, mode="w"):
    with path.open(mode) as file:
        file.writelines(json.dumps({"n": n, "text": f"text number {n}"}) + "\n" for n in range(first, last))
    return path


def numbers(path):
    return [one["n"] for one in jinx.open(path)]


def rows_in(path):
    return jinx.open(path) if path.suffix in {"", ".jinx"} else jinx.stream(path)


def keep_all(data):
    return Dataset.load(data).process(jp.ops.TextLengthFilter(min_len=1))


def renamed(data, to):
    return Dataset.load(data).process(lambda sample: {**sample, "text": to})


def killed(work) -> None:
    """Do some work in a process that kills itself on the way."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def kill_me(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_refused_try_leaves_nothing_that_the_corrected_recipe_reads(tmp_path):
    data = lines(tmp_path / "in.jsonl", 0, 100)
    few = SourceSpec(str(data), max_samples=10)
    with pytest.raises(RecipeError):
        Dataset.load(few).process([jp.ops.ImageShapeFilter(min_width=1)]).export(tmp_path / "out", workers=1)
    done = keep_all(data).export(tmp_path / "out", workers=1, block_rows=40)
    assert (done.rows_in, numbers(tmp_path / "out")) == (100, list(range(100)))


@pytest.mark.parametrize(("name", "kind"), KINDS)
@pytest.mark.parametrize("grown", [100, 160])
def test_killed_between_the_output_and_its_note(tmp_path, name, kind, grown):
    """Also where the input has grown since: its rows are not lost."""
    data = lines(tmp_path / "in.jsonl", 0, 100)
    go = keep_all(data)
    real = Ledger.note

    def note(self, name, **facts):
        if name == "published":
            kill_me()
        real(self, name, **facts)

    def work():
        Ledger.note = note
        go.export(tmp_path / name, kind=kind, workers=1, block_rows=40)

    killed(work)
    lines(data, 100, grown, "a")
    done = go.export(tmp_path / name, kind=kind, workers=1, block_rows=40)
    assert (done.rows_in, done.rows_out, done.ok) == (grown, grown, True)
    rows = list(rows_in(tmp_path / name))
    assert [one["n"] for one in rows] == list(range(grown))
    again = go.export(tmp_path / name, kind=kind, workers=1, block_rows=40)
    assert (again.rows_out, again.resumed) == (grown, True)
    left = {one.name for one in tmp_path.iterdir()} - {"in.jsonl", name, f"{name}.work", "v.binx", "out.binx"}
    assert left == set()


@pytest.mark.parametrize("kind", ["out", "out.jinx"])
def test_killed_while_publishing_and_then_the_input_grew(tmp_path, kind):
    data = lines(tmp_path / "in.jsonl", 0, 100)

    def work():
        jinx.merge = kill_me
        jinx.Writer.close = kill_me
        keep_all(data).export(tmp_path / kind, workers=1, block_rows=40, shard_size=1000 if kind == "out" else None)

    killed(work)
    lines(data, 100, 160, "a")
    more = {"shard_size": 1000} if kind == "out" else {}
    for _ in range(2):
        done = keep_all(data).export(tmp_path / kind, workers=1, block_rows=40, **more)
        assert (done.rows_in, done.rows_out) == (160, 160)
        assert numbers(tmp_path / kind) == list(range(160))


@pytest.mark.parametrize("at", ["plan.json", "recipe.json", "parts"])
def test_killed_while_an_earlier_run_is_forgotten(tmp_path, at):
    data = lines(tmp_path / "in.jsonl", 0, 100)
    out = tmp_path / "out.jinx"
    Dataset.load(SourceSpec(str(data), max_samples=10)).process(lambda sample: {**sample, "text": "A"}).export(
        out, workers=1, block_rows=40
    )

    def work():
        unlink = Path.unlink

        def and_killed(self, *args, **more):
            unlink(self, *args, **more)
            if at in {self.name, self.parent.name}:
                kill_me()

        Path.unlink = and_killed
        renamed(data, "B").export(out, workers=1, block_rows=40, restart=True, overwrite=True)

    killed(work)
    done = renamed(data, "B").export(out, workers=1, block_rows=40, overwrite=True)
    assert (done.rows_in, {one["text"] for one in jinx.open(out)}, len(jinx.open(out))) == (100, {"B"}, 100)


def test_a_restart_that_is_refused_loses_nothing(tmp_path):
    data = lines(tmp_path / "in.jsonl", 0, 100)
    out = tmp_path / "out.jinx"
    keep_all(data).export(out, workers=1)
    before = sorted(str(one) for one in (tmp_path / "out.jinx.work").rglob("*"))
    with pytest.raises(FileExistsError):
        keep_all(data).export(out, workers=1, restart=True)
    assert sorted(str(one) for one in (tmp_path / "out.jinx.work").rglob("*")) == before
    assert keep_all(data).export(out, workers=1).resumed


@pytest.mark.parametrize("more", [{"restart": True}, {"restart": True, "overwrite": True}])
def test_started_over_after_a_kill_while_publishing(tmp_path, more):
    data, out = lines(tmp_path / "in.jsonl", 0, 120), tmp_path / "out"

    def work():
        jinx.merge = kill_me
        renamed(data, "A").export(out, workers=1, block_rows=40, shard_size=1000)

    killed(work)
    assert renamed(data, "B").export(out, workers=1, block_rows=40, shard_size=1000, **more).rows_out == 120
    assert {one["text"] for one in jinx.open(out)} == {"B"}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in.jsonl", "out", "out.work"]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_an_output_that_another_program_has_replaced_is_seen(tmp_path, name, kind):
    data, out = lines(tmp_path / "in.jsonl", 0, 100), tmp_path / name
    keep_all(data).export(out, kind=kind, workers=1)
    if name in {"out.jsonl", "out.parquet"}:
        out.write_bytes(out.read_bytes() + b" ")
    else:
        with jinx.Writer(out, overwrite=True) as writer:
            writer.write_many({"n": -1, "text": "other"} for _ in range(3))
    theirs = digest(out)
    with pytest.raises(FileExistsError, match="not the output that this run has written"):
        keep_all(data).export(out, kind=kind, workers=1)
    assert digest(out) == theirs
    if name == "out":
        with pytest.raises(ChangedError, match="has been replaced, with its parts"):
            keep_all(data).export(out, kind=kind, workers=1, overwrite=True)
    else:
        assert keep_all(data).export(out, kind=kind, workers=1, overwrite=True).rows_out == 100
        assert [one["n"] for one in rows_in(out)] == list(range(100))


@pytest.mark.parametrize("name", ["out", "out.jsonl"])
def test_an_output_that_appears_while_it_is_made_is_kept(tmp_path, monkeypatch, name):
    """Two runs with a working directory each: the second one finds what the first one has made of other rows."""
    data, out = lines(tmp_path / "in.jsonl", 0, 100), tmp_path / name
    real = Ledger.note

    def note(self, name, **facts):
        real(self, name, **facts)
        if name == "publishing":
            with monkeypatch.context() as patch:
                patch.setattr(Ledger, "note", real)
                renamed(data, "A").export(tmp_path / f"a{out.suffix}", workers=1, work_dir=str(tmp_path / "wa"))
            shutil.move(tmp_path / f"a{out.suffix}", out)

    monkeypatch.setattr(Ledger, "note", note)
    with pytest.raises(FileExistsError):
        renamed(data, "B").export(out, workers=1, work_dir=str(tmp_path / "wb"))
    monkeypatch.undo()
    for _ in range(2):
        with pytest.raises(FileExistsError):
            renamed(data, "B").export(out, workers=1, work_dir=str(tmp_path / "wb"))
        assert {one["text"] for one in rows_in(out)} == {"A"}
    shutil.rmtree(out) if out.is_dir() else out.unlink()
    assert renamed(data, "B").export(out, workers=1, work_dir=str(tmp_path / "wb")).rows_out == 100
    assert {one["text"] for one in rows_in(out)} == {"B"}


def test_two_runs_onto_one_output_and_two_recipes_over_one_work_dir(tmp_path):
    data, out = lines(tmp_path / "in.jsonl", 0, 10), tmp_path / "out.jinx"
    told = []

    def work(self, *args, **more):
        if not told:
            told.append(1)
            with pytest.raises(RuntimeError, match=r"another run writes this output, with the working directory .*wa"):
                renamed(data, "B").export(out, workers=1, work_dir=str(tmp_path / "wb"))
        return real(self, *args, **more)

    real = Ledger.note
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "note", work)
        renamed(data, "A").export(out, workers=1, work_dir=str(tmp_path / "wa"))
    assert told
    with pytest.raises(ChangedError, match="belongs to another recipe"):
        keep_all(data).export(out, workers=1, work_dir=str(tmp_path / "wa"))
    assert renamed(data, "A").export(out, workers=1, work_dir=str(tmp_path / "wa")).resumed


@pytest.mark.parametrize("out", ["in/out.jinx", "in/out", "in/deep/out.jsonl"])
def test_an_output_in_an_input_directory_is_refused(tmp_path, monkeypatch, out):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    lines(tmp_path / "in" / "a.jsonl", 0, 5)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"out\S* lies in \S+in, an input"):
        keep_all("in").export(out, workers=1, work_dir="work")
    with pytest.raises(ValueError, match=r"in/work lies in \S+in, an input"):
        keep_all("in").export("out.jinx", workers=1, work_dir="in/work")
    with pytest.raises(ValueError, match="would be one of the inputs"):
        keep_all("in/*.jsonl").export("in/b.jsonl", workers=1)
    assert sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*")) == ["in", "in/a.jsonl", "in/deep"]
