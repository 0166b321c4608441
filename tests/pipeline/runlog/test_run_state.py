"""What lies in a working directory or in the place of an output is believed only where it belongs to this run."""

import json
import math
import os
import shutil
import signal
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline import ChangedError, SourceSpec
from jinx_pipeline.cli.program import run as command
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.publish import staged_output
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Published, Publishing
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.runlog.run_log import RunLog
from pipeline.made import digest

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

KINDS = [("out", None), ("out.jinx", None), ("out.jsonl", None), ("out.parquet", None), ("v.jinx", "view")]


def lines(path, first, last, mode="w"):
    with path.open(mode) as file:
        file.writelines(json.dumps({"n": n, "text": f"text number {n}"}) + "\n" for n in range(first, last))
    return path


def numbers(path):
    return [sample["n"] for sample in jinx.open(path)]


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
    real = Ledger.record

    def record(self, what):
        if isinstance(what, Published):
            kill_me()
        real(self, what)

    def work():
        Ledger.record = record
        go.export(tmp_path / name, kind=kind, workers=1, block_rows=40)

    killed(work)
    lines(data, 100, grown, "a")
    done = go.export(tmp_path / name, kind=kind, workers=1, block_rows=40)
    assert (done.rows_in, done.rows_out, done.ok) == (grown, grown, True)
    rows = list(rows_in(tmp_path / name))
    assert [row["n"] for row in rows] == list(range(grown))
    again = go.export(tmp_path / name, kind=kind, workers=1, block_rows=40)
    assert (again.rows_out, again.resumed) == (grown, True)
    left = {file.name for file in tmp_path.iterdir()} - {"in.jsonl", name, f"{name}.work", "v.binx", "out.binx"}
    assert left == set()


@pytest.mark.parametrize("kind", ["out", "out.jinx"])
def test_killed_while_publishing_and_then_the_input_grew(tmp_path, kind):
    data = lines(tmp_path / "in.jsonl", 0, 100)

    def work():
        staged_output.put_in_place = kill_me
        keep_all(data).export(tmp_path / kind, workers=1, block_rows=40, shard_size=1000 if kind == "out" else None)

    killed(work)
    lines(data, 100, 160, "a")
    more = {"shard_size": 1000} if kind == "out" else {}
    for _ in range(2):
        done = keep_all(data).export(tmp_path / kind, workers=1, block_rows=40, **more)
        assert (done.rows_in, done.rows_out) == (160, 160)
        assert numbers(tmp_path / kind) == list(range(160))


# What a restart calls on its way from one run to the next.
STEPS = [
    (RunDirectory, "make"),
    (RunDirectory, "sync"),
    (RunLog, "create"),
    (Path, "unlink"),
    (Path, "replace"),
    (shutil, "rmtree"),
    (os, "rmdir"),
]


def killed_at(number, work) -> bool:
    """Do some work in a process that kills itself before and after each step; whether there were so many."""
    child = os.fork()
    if child == 0:
        left = [number]

        def count():
            if not left[0]:
                kill_me()
            left[0] -= 1

        def counted(real):
            def call(*args, **more):
                count()
                returned = real(*args, **more)
                count()
                return returned

            return call

        try:
            for owner, name in STEPS:
                setattr(owner, name, counted(getattr(owner, name)))
            Ledger.claim = lambda _: os._exit(0)
            work()
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in {0, -signal.SIGKILL}
    return code != 0


def test_killed_at_any_step_while_an_earlier_run_is_given_up(tmp_path):
    """The earlier run goes on, or the new one begins; rows of one are never those of the other."""
    data, out, work, saved = (
        lines(tmp_path / "in.jsonl", 0, 40),
        tmp_path / "out",
        tmp_path / "out.work",
        tmp_path / "s",
    )
    few = SourceSpec(str(data), max_samples=10)

    def first():
        jinx.merge = kill_me
        Dataset.load(few).process(lambda sample: {**sample, "text": "A"}).export(out, workers=1, block_rows=20)

    killed(first)
    (hidden,) = [file for file in tmp_path.glob(".out.*") if file.is_dir()]
    for path in (hidden, work):
        shutil.copytree(path, saved / path.name)
    go = renamed(data, "B")
    kept, begun, number = 0, 0, 0
    while True:
        shutil.rmtree(work)
        for path in (hidden, out):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
        was = (work / "CURRENT").read_text()
        if not killed_at(number, lambda: go.export(out, workers=1, block_rows=20, restart=True)):
            break
        if (work / "CURRENT").read_text() == was:
            kept += 1
            with pytest.raises(ChangedError, match="belongs to another recipe"):
                go.export(out, workers=1, block_rows=20)
            assert hidden.exists()
        else:
            begun += 1
            done = go.export(out, workers=1, block_rows=20)
            assert (done.resumed, done.rows_in, len(jinx.open(out))) == (True, 40, 40)
            assert {sample["text"] for sample in jinx.open(out)} == {"B"}
            left = {file.name for file in tmp_path.iterdir()}
            assert left == {"in.jsonl", "out", "out.work", "s"}
            assert len(list((work / "runs").iterdir())) == 1
        number += 1
    assert kept > 5
    assert begun > 5


def test_a_restart_that_is_refused_loses_nothing(tmp_path):
    data = lines(tmp_path / "in.jsonl", 0, 100)
    out = tmp_path / "out.jinx"
    keep_all(data).export(out, workers=1)
    before = sorted(str(file) for file in (tmp_path / "out.jinx.work").rglob("*"))
    with pytest.raises(FileExistsError):
        keep_all(data).export(out, workers=1, restart=True)
    assert sorted(str(file) for file in (tmp_path / "out.jinx.work").rglob("*")) == before
    assert keep_all(data).export(out, workers=1).resumed


@pytest.mark.parametrize("more", [{"restart": True}, {"restart": True, "overwrite": True}])
def test_started_over_after_a_kill_while_publishing(tmp_path, more):
    data, out = lines(tmp_path / "in.jsonl", 0, 120), tmp_path / "out"

    def work():
        jinx.merge = kill_me
        renamed(data, "A").export(out, workers=1, block_rows=40, shard_size=1000)

    killed(work)
    assert renamed(data, "B").export(out, workers=1, block_rows=40, shard_size=1000, **more).rows_out == 120
    assert {sample["text"] for sample in jinx.open(out)} == {"B"}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.jsonl", "out", "out.work"]


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
        assert [row["n"] for row in rows_in(out)] == list(range(100))


@pytest.mark.parametrize("name", ["out", "out.jsonl"])
def test_an_output_that_appears_while_it_is_made_is_kept(tmp_path, monkeypatch, name):
    """Two runs with a working directory each: the second one finds what the first one has made of other rows."""
    data, out = lines(tmp_path / "in.jsonl", 0, 100), tmp_path / name
    real = Ledger.record

    def record(self, what):
        real(self, what)
        if isinstance(what, Publishing):
            with monkeypatch.context() as patch:
                patch.setattr(Ledger, "record", real)
                renamed(data, "A").export(tmp_path / f"a{out.suffix}", workers=1, work_dir=str(tmp_path / "wa"))
            shutil.move(tmp_path / f"a{out.suffix}", out)

    monkeypatch.setattr(Ledger, "record", record)
    with pytest.raises(FileExistsError):
        renamed(data, "B").export(out, workers=1, work_dir=str(tmp_path / "wb"))
    monkeypatch.undo()
    for _ in range(2):
        with pytest.raises(FileExistsError):
            renamed(data, "B").export(out, workers=1, work_dir=str(tmp_path / "wb"))
        assert {row["text"] for row in rows_in(out)} == {"A"}
    shutil.rmtree(out) if out.is_dir() else out.unlink()
    assert renamed(data, "B").export(out, workers=1, work_dir=str(tmp_path / "wb")).rows_out == 100
    assert {row["text"] for row in rows_in(out)} == {"B"}


def test_two_runs_onto_one_output_and_two_recipes_over_one_work_dir(tmp_path):
    data, out = lines(tmp_path / "in.jsonl", 0, 10), tmp_path / "out.jinx"
    told = []

    def work(self, *args, **more):
        if not told:
            told.append(1)
            with pytest.raises(RuntimeError, match=r"another run writes this output, with the working directory .*wa"):
                renamed(data, "B").export(out, workers=1, work_dir=str(tmp_path / "wb"))
        return real(self, *args, **more)

    real = Ledger.record
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "record", work)
        renamed(data, "A").export(out, workers=1, work_dir=str(tmp_path / "wa"))
    assert told
    with pytest.raises(ChangedError, match="belongs to another recipe"):
        keep_all(data).export(out, workers=1, work_dir=str(tmp_path / "wa"))
    assert renamed(data, "A").export(out, workers=1, work_dir=str(tmp_path / "wa")).resumed


def test_a_path_of_another_recipe_is_shown_as_it_was_written(tmp_path):
    data, code = lines(tmp_path / "in.jsonl", 0, 10), tmp_path / "code.py"
    code.write_text("def same(sample):\n    return sample\n")
    out = tmp_path / "out.jinx"
    mapper = jp.ops.PythonFileMapper(file_path=code, function_name="same")
    Dataset.load(data).process(mapper).export(out, workers=1)
    with pytest.raises(ChangedError, match=r'process\[0\]\.parameters\.file_path: "/'):
        keep_all(data).export(out, workers=1)


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
    assert sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*")) == ["in", "in/a.jsonl", "in/deep"]


def test_a_run_whose_parameters_have_no_bound_reads_its_own_log(tmp_path):
    """JSON has no infinity, which is the default of `max_value`."""
    data = lines(tmp_path / "in.jsonl", 0, 100)

    def go(least: float):
        between = jp.ops.SpecifiedNumericFieldFilter(field_key="n", min_value=least)
        return Dataset.load(data).process(between).export(tmp_path / "out.jinx", workers=1)

    assert go(40).rows_out == 60
    assert go(40).rows_out == 60
    with pytest.raises(ChangedError, match="min_value"):
        go(-math.inf)


TEXTS = jp.RequiredColumns(columns={"text": "str"})


def checked(data, *validators):
    return Dataset.load(data, validators=validators).process(jp.ops.CleanLinksMapper())


def test_samples_that_were_appended_are_validated(tmp_path):
    data, out = lines(tmp_path / "in.jsonl", 0, 5), tmp_path / "out.jinx"
    assert checked(data, TEXTS).export(out, workers=1).rows_out == 5
    good = data.read_text()
    data.write_text(f'{good}{{"n": 5}}\n{{"n": 6, "text": 7}}\n')
    for _ in range(2):
        with pytest.raises(jp.ValidationError, match=r"sample 5: 'text' is missing; sample 6: 'text' is int, not str"):
            checked(data, TEXTS).export(out, workers=1)
        assert numbers(out) == list(range(5))
    data.write_text(good)
    lines(data, 5, 8, "a")
    assert checked(data, TEXTS).export(out, workers=1).rows_out == 8


def test_other_validators_are_another_recipe(tmp_path, capsys):
    data, out = lines(tmp_path / "in.jsonl", 0, 5), tmp_path / "out.jinx"
    checked(data).export(out, workers=1)
    captions = jp.RequiredColumns(columns=["caption"])
    for is_there in (True, False):
        with pytest.raises(ChangedError, match=r"belongs to another recipe: validators.*required_columns"):
            checked(data, captions).export(out, workers=1)
        assert out.exists() == is_there
        out.unlink(missing_ok=True)
    with pytest.raises(jp.ValidationError, match="sample 0: 'caption' is missing"):
        checked(data, captions).export(out, workers=1, restart=True)
    checked(data, TEXTS).export(out, workers=1, restart=True)
    out.unlink()
    # The working directory alone knows them, too.
    assert command(["resume", str(tmp_path / "out.jinx.work")]) == 0
    assert numbers(out) == list(range(5))
    with data.open("a") as file:
        file.write('{"n": 5}\n')
    assert command(["resume", str(tmp_path / "out.jinx.work")]) == 2
    assert "sample 5: 'text' is missing" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["out.jinx", "out", "out.jsonl"])
@pytest.mark.parametrize("rows", ["the input's", "changed"])
def test_a_part_under_the_name_of_another_is_refused(tmp_path, name, rows):
    data, out = lines(tmp_path / "in.jsonl", 10, 70), tmp_path / name
    flow = keep_all(data) if rows == "the input's" else renamed(data, "A")
    steps = flow.process(jp.ops.DocumentDeduplicator()) if rows == "changed" else flow

    def work():
        Ledger.record = lambda self, what: kill_me() if isinstance(what, Published) else real(self, what)
        steps.export(out, workers=1, block_rows=10)

    real = Ledger.record
    killed(work)
    shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)
    parts = sorted(file for file in (tmp_path / f"{name}.work").rglob("parts/*-b*.jinx"))
    if name == "out" and not parts:
        return  # they became the output
    shutil.copy(parts[0], parts[1])
    with pytest.raises(ValueError, match=rf"{parts[1].name} is not the part that this run has written; restore it"):
        steps.export(out, workers=1, block_rows=10)
    assert not out.exists()
