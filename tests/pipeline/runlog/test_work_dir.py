"""The working directory: what it may be, and what a refused run leaves."""

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline import ChangedError
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.global_ops import decisions, key_work
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.replay import recipe_in
from jinx_pipeline.runlog.run_log import RunLog
from jinx_pipeline.runlog.work_dir import WorkDir, publish_text
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.worker import map_work, part_writer
from jinx_pipeline.worker.work import WorkerState
from pipeline.made import digest, rows_of, write_input


def test_a_folder_of_somebody_else_is_refused_and_stays_as_it_is(tmp_path):
    data = write_input(tmp_path / "in.jinx", 5)
    theirs = tmp_path / "project"
    (theirs / "parts").mkdir(parents=True)
    (theirs / "parts" / "mine.txt").write_text("mine")
    (theirs / "recipe.json").write_text("{}")
    with pytest.raises(ValueError, match="not the working directory of a run"):
        Dataset.load(data).export(tmp_path / "out.jinx", work_dir=str(theirs), restart=True, workers=1)
    assert sorted(str(file.relative_to(theirs)) for file in theirs.rglob("*")) == [
        "parts",
        "parts/mine.txt",
        "recipe.json",
    ]


THEIRS = {
    "experiment": ["runs/Nov26/events.out", "model.pt"],
    "runs alone": ["runs/Nov26/events.out"],
    "runs of ours by name": ["runs/0123456789abcdef/notes.txt"],
    "with a lock": ["lock", "runs/Nov26/events.out"],
    "inputs": ["inputs/mine.txt"],
    "logs": ["events.jsonl", "quarantine.jsonl", "trace.jsonl", "runs/a"],
    "database": ["CURRENT", "000003.log"],
    "hidden": [".git/config", "lock"],
}


@pytest.mark.parametrize("theirs", THEIRS.values(), ids=THEIRS)
@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("restart", [False, True])
def test_what_only_has_the_names_of_a_run_is_refused_and_stays_as_it_is(tmp_path, theirs, is_linked, restart):
    data, place = write_input(tmp_path / "in.jinx", 5), tmp_path / "exp"
    for name in theirs:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("mine")
    (tmp_path / "link").symlink_to(place)
    before = sorted(place.rglob("*"))
    with pytest.raises(ValueError, match="not the working directory of a run: it holds "):
        Dataset.load(data).export(
            tmp_path / "out.jinx", work_dir=str(tmp_path / "link" if is_linked else place), restart=restart, workers=1
        )
    assert sorted(place.rglob("*")) == before
    assert all((place / name).read_text() == "mine" for name in theirs)


def begin(work_dir):
    with work_dir.new_run() as directory:
        RunLog.create(directory.log, directory.run, {})
    return directory


def test_an_empty_folder_and_an_earlier_one_are_taken(tmp_path):
    (tmp_path / "work").mkdir()
    with WorkDir(tmp_path / "work") as work_dir:
        assert work_dir.current() is None
        run = begin(work_dir).run
    with WorkDir(tmp_path / "work") as work_dir:
        assert work_dir.current().run == run


def test_a_working_directory_has_one_driver(tmp_path):
    with WorkDir(tmp_path / "work"), pytest.raises(RuntimeError, match="another process runs this pipeline"):
        WorkDir(tmp_path / "work")
    WorkDir(tmp_path / "work").close()


@pytest.mark.parametrize("restart", [False, True])
def test_the_directory_of_an_earlier_version_is_refused_with_the_remedy(tmp_path, restart):
    data = write_input(tmp_path / "in.jinx", 5)
    work = tmp_path / "out.jinx.work"
    work.mkdir()
    for name in ("lock", "plan.json", "journal.jsonl"):
        (work / name).write_text("{}")
    with pytest.raises(ValueError, match=r"earlier version of jinx-pipeline, which kept plan\.json there; finish"):
        Dataset.load(data).export(tmp_path / "out.jinx", restart=restart, workers=1)
    with pytest.raises(ValueError, match="remove the directory to start over"):
        recipe_in(work)
    assert sorted(file.name for file in work.iterdir()) == ["journal.jsonl", "lock", "plan.json"]


def test_a_run_whose_directory_is_gone_is_refused_with_the_remedy(tmp_path):
    data = write_input(tmp_path / "in.jinx", 5)
    Dataset.load(data).export(tmp_path / "out.jinx", workers=1)
    shutil.rmtree(tmp_path / "out.jinx.work" / "runs")
    with pytest.raises(ChangedError, match=r"log\.jsonl is gone; restore it, or start over with restart=True"):
        Dataset.load(data).export(tmp_path / "out.jinx", workers=1)
    assert Dataset.load(data).export(tmp_path / "out.jinx", restart=True, overwrite=True, workers=1).rows_out == 5


def test_runs_that_are_not_the_current_one_are_swept_and_that_one_never(tmp_path):
    data = write_input(tmp_path / "in.jinx", 5)
    runs = tmp_path / "out.jinx.work" / "runs"
    Dataset.load(data).export(tmp_path / "out.jinx", workers=1)
    (current,) = runs.iterdir()
    (runs / f"{1:016x}" / "parts").mkdir(parents=True)
    shutil.copytree(current, runs / f"{2:016x}")
    (runs / "Nov26").mkdir()
    (runs / "Nov26" / "notes.txt").write_text("mine")
    assert Dataset.load(data).export(tmp_path / "out.jinx", workers=1).resumed
    assert set(runs.iterdir()) == {current, runs / "Nov26"}
    Dataset.load(data).export(tmp_path / "out.jinx", restart=True, overwrite=True, workers=1)
    assert len(list(runs.iterdir())) == 2
    assert current not in runs.iterdir()
    assert (runs / "Nov26" / "notes.txt").read_text() == "mine"


def test_a_refused_run_leaves_no_folder(tmp_path):
    data = write_input(tmp_path / "in.jinx", 5)
    (tmp_path / "out.jinx").write_text("here")
    with pytest.raises(FileExistsError):
        Dataset.load(data).export(tmp_path / "out.jinx", workers=1)
    assert not (tmp_path / "out.jinx.work").exists()


@pytest.mark.parametrize("kind", ["jinx", "view"])
def test_an_output_never_replaces_an_input(tmp_path, kind):
    data = write_input(tmp_path / "in.jinx", 5)
    before = digest(data)
    jinx.open(data)[:3].save(tmp_path / "view.jinx")
    drop = jp.ops.TextLengthFilter(min_len=1000)
    for source in (data, tmp_path / "view.jinx", str(tmp_path / "in*.jinx")):
        with pytest.raises(ValueError, match="is also an input"):
            Dataset.load(source).process(drop).export(data, kind=kind, overwrite=True, workers=1)
    assert digest(data) == before
    assert len(rows_of(tmp_path / "view.jinx")) == 3


def test_a_full_disk_is_said_to_be_that_of_the_work_dir(tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, WorkDir(tmp_path / "out.work"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "out.work")


class Written(key_work.KeyWork):
    count = 1

    def write(self, file, number):
        file.write(bytes(number))


def keyed(operator):
    return Stage([], [], Roles(), output="view", signatures=operator)


@pytest.mark.parametrize(
    ("write", "syncs_folder"),
    [
        (lambda path: publish_text(path, "text"), True),
        (lambda path: decisions.publish_order(path, [np.arange(3)]), True),
        (lambda path: Written(jp.ops.Shuffle(), 0).run(Source(), Task(0, 0, 0, 1), path, WorkerState()), True),
        # The part that comes next syncs it.
        (lambda path: map_work._write_signatures(keyed(jp.ops.Shuffle()), path, [pa.table({"a": [1]})]), False),
    ],
)
def test_what_the_journal_trusts_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch, write, syncs_folder):
    done = []
    sync, replace = os.fsync, Path.replace

    def seen_sync(file):
        done.append(("sync", str(Path(f"/proc/self/fd/{file}").readlink())))
        sync(file)

    def seen_replace(self, target):
        done.append(("replace", str(target)))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", seen_sync)
    monkeypatch.setattr(Path, "replace", seen_replace)
    write(tmp_path / "file")
    temporary = ("sync", str(tmp_path / ".file.tmp"))
    assert done == [
        temporary,
        ("replace", str(tmp_path / "file")),
        *([("sync", str(tmp_path))] if syncs_folder else []),
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_signatures_are_there_before_the_part_whose_publishing_syncs_them(tmp_path, monkeypatch):
    done = []
    for module, name in ((map_work, "_write_signatures"), (part_writer, "write_view")):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, name=name, real=real: (done.append(name), real(*args))[1])
    data = write_input(tmp_path / "in.jinx", 5)
    work, task = map_work.MapWork(keyed(jp.ops.DocumentDeduplicator())), Task("0.0", 0, 0, 5)
    receipt = work.run(Source((str(data),)), task, tmp_path / "part.jinx", WorkerState())
    assert (receipt.rows_out, done) == (5, ["_write_signatures", "write_view"])
    assert (tmp_path / "part.jinx.signatures").exists()


DAMAGE = [b"zz" * 300, b"61f5575c13cve4ce", b"", b"../..", b"\xff\xfe"]


@pytest.mark.parametrize("damage", DAMAGE, ids=["long", "flipped", "empty", "outside", "binary"])
def test_a_damaged_id_of_the_run_is_named_with_the_runs_that_there_are(tmp_path, damage):
    data, out = write_input(tmp_path / "in.jinx", 5), tmp_path / "out.jinx"
    Dataset.load(data).export(out, workers=1)
    current = tmp_path / "out.jinx.work" / "CURRENT"
    run = current.read_text()
    current.write_bytes(damage)
    with pytest.raises(ChangedError) as caught:
        Dataset.load(data).export(out, workers=1)
    message = str(caught.value)
    assert "CURRENT is damaged" in message
    assert f"the run there is {run.strip()}: write the id of yours into CURRENT" in message
    assert "--restart --overwrite" in message
    current.write_text(run)
    assert Dataset.load(data).export(out, workers=1).resumed
    current.write_bytes(damage)
    assert not Dataset.load(data).export(out, workers=1, restart=True, overwrite=True).resumed


def test_an_id_of_a_run_that_is_not_there_is_named_with_the_runs_that_there_are(tmp_path):
    data, out = write_input(tmp_path / "in.jinx", 5), tmp_path / "out.jinx"
    Dataset.load(data).export(out, workers=1)
    current = tmp_path / "out.jinx.work" / "CURRENT"
    run = current.read_text().strip()
    current.write_text("0" * 16)
    with pytest.raises(ChangedError, match=rf"{'0' * 16}/log.jsonl is gone; .*the run there is {run}"):
        Dataset.load(data).export(out, workers=1)
