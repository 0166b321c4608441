"""Publishing that is interrupted at any step is finished by the next run, with the same bytes."""

import os
import shutil
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.local.worker_processes import LocalWorkers
from jinx_pipeline.publish.publication import Publication
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Published
from pipeline.made import digest, loaded_operators, log_of, records_of, write_input

pytestmark = pytest.mark.filterwarnings("ignore::jinx_pipeline.BadRowsWarning", "ignore:.*fork.*:DeprecationWarning")

# What publishing calls, in a process that may end before and after each call.
STEPS = [(Ledger, "record"), (Ledger, "commit"), (Path, "rename"), (jinx, "merge"), (shutil, "rmtree")]
ENDED = 99


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx")


def export(data, out, size):
    files = (str(loaded_operators()),)
    flow = Dataset.load(data).process(jp.create("fragile_mapper", kills=[123]))
    return flow.export(out, workers=1, block_rows=100, custom_operators=files, shard_size=size)


def ended_at(number, work) -> bool:
    """Do some work in a process that ends at one of the steps; whether there were so many."""
    child = os.fork()
    if child == 0:
        left = [number]

        def look():
            if not left[0]:
                os._exit(ENDED)
            left[0] -= 1

        def watched(real):
            def call(*args, **more):
                look()
                found = real(*args, **more)
                look()
                return found

            return call

        try:
            for owner, name in STEPS:
                setattr(owner, name, watched(getattr(owner, name)))
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == ENDED


@pytest.mark.parametrize("size", [40_000, 110_000])
def test_a_run_that_ends_at_any_step_of_publishing_is_resumed(data, tmp_path, monkeypatch, size):
    """One block was divided; with small shards every part becomes one, with larger ones some are copied into one."""
    calm, out, work, saved = (tmp_path / name for name in ("calm", "out", "out.work", "saved"))
    export(data, calm, size)
    with monkeypatch.context() as patch:
        patch.setattr(Publication, "tasks", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export(data, out, size)
    work.rename(saved)
    steps = 0
    while True:
        for path in (out, work):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(saved, work)
        is_ended = ended_at(steps, lambda: export(data, out, size))
        assert export(data, out, size).rows_out == 399, steps
        assert digest(out) == digest(calm), steps
        if not is_ended:
            break
        steps += 3
    assert steps > 10


def test_rows_that_were_added_are_not_added_again(tmp_path, monkeypatch):
    """The run ended when the rows that the input had gained were in the output, and it had not noted that."""
    lines, out = tmp_path / "in.jsonl", tmp_path / "out"
    lines.write_text("".join(f'{{"text": "row {number}"}}\n' for number in range(50)))

    def go():
        return Dataset.load(lines).process(jp.ops.TextLengthFilter(min_len=1)).export(out, workers=1, block_rows=10)

    go()
    with lines.open("a") as file:
        file.writelines(f'{{"text": "row {number}"}}\n' for number in range(50, 90))
    real = Ledger.record

    def interrupted(self, record):
        if isinstance(record, Published):
            raise KeyboardInterrupt
        real(self, record)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", interrupted)
        with pytest.raises(KeyboardInterrupt):
            go()
    assert go().rows_out == 90
    assert [sample["text"] for sample in jinx.open(out)] == [f"row {number}" for number in range(90)]


def test_what_a_merge_has_left_is_removed(data, tmp_path, monkeypatch):
    """The run ended when the dataset was in place, and some of its parts were not removed yet."""
    real = jinx.merge

    def interrupted(out):
        real(out)
        (out / ".part-00001-of-00004").mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(jinx, "merge", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export(data, tmp_path / "out", 40_000)
    again = export(data, tmp_path / "out", 40_000)
    assert (again.rows_out, again.bytes) == (399, sum(shard.stat().st_size for shard in shards(tmp_path / "out")))
    assert not list((tmp_path / "out").glob(".part-*"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "out.work"]


@pytest.mark.parametrize("name", ["out", "out.jinx"])
def test_what_workers_write_while_they_are_ended_is_removed(data, tmp_path, monkeypatch, name):
    real = LocalWorkers.close
    work_dir = tmp_path / f"{name}.work"

    def late(self):
        real(self)
        parts = log_of(work_dir).with_name("parts")
        for leftover in ("s0.0-b000001-000000000.77-abc.jinx", "s0.0-b000001-000000000.77-abc.jinx.answer"):
            (parts / leftover).write_bytes(b"late")
        (parts / "s0.0-b000002-000000000.78-abc.trial").mkdir()

    monkeypatch.setattr(LocalWorkers, "close", late)
    export(data, tmp_path / name, None)
    committed = [
        record
        for record in records_of(tmp_path / f"{name}.work", "committed")
        if record["node"].startswith("fragile_mapper")
    ]
    # Those of a directory are its shards.
    kept = (
        {record["receipt"]["part"] for record in committed if record["receipt"]["part"]}
        if name == "out.jinx"
        else set()
    )
    assert {file.name for file in log_of(work_dir).with_name("parts").iterdir() if file.suffix != ".binx"} == kept


def shards(folder: Path) -> list[Path]:
    return [file for file in folder.iterdir() if file.name.startswith("shard-")]
