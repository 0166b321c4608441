"""The journal and the ledger over it: what was committed stays, once."""

import os

import pytest

from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.runlog.journal import Journal
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.schedule.task import Task


def test_a_line_that_a_crash_cut_short_is_dropped(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path, "r") as journal:
        journal.append({"kind": "note", "name": "a"})
    whole = path.read_bytes()
    record = whole.splitlines(keepends=True)[-1]
    for cut in range(1, len(record)):
        path.write_bytes(whole + record[:cut])
        with Journal(path, "r") as journal:
            assert [one["name"] for one in journal.records] == ["a"]
            journal.append({"kind": "note", "name": "b"})
        with Journal(path, "r") as journal:
            assert [one["name"] for one in journal.records] == ["a", "b"]


def test_what_was_not_on_the_disk_when_the_machine_ended_is_dropped(tmp_path):
    """The page with one record was not written, and the one after it was."""
    path = tmp_path / "journal.jsonl"
    with Journal(path, "r") as journal:
        journal.append({"kind": "note", "name": "a"})
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 40 + b'"}\n' + whole)
    with Journal(path, "r") as journal:
        assert [one["name"] for one in journal.records] == ["a"]
    assert path.read_bytes() == whole


def test_a_record_that_could_not_be_synced_is_not_said_to_be_on_the_disk(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    with Journal(tmp_path / "journal.jsonl", "r") as journal:
        journal.append({"kind": "note", "name": "a"})
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", full)
            with pytest.raises(OSError, match="No space"):
                journal.sync()
        calls = []
        monkeypatch.setattr(os, "fdatasync", calls.append)
        journal.sync()
        assert not calls  # the system would say that all is well


def test_damage_in_the_middle_is_an_error(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"kind":"note","name":"a"}\n{"kind":"no\n{"kind":"note","name":"b"}\n')
    with pytest.raises(ValueError, match="line 2: damaged"):
        Journal(path, "r")


def test_the_journal_of_another_run_is_refused(tmp_path):
    with Journal(tmp_path / "journal.jsonl", "one") as journal:
        journal.append({"kind": "note", "name": "a"})
    with pytest.raises(ValueError, match=r"belongs to another run than plan\.json"):
        Journal(tmp_path / "journal.jsonl", "two")


def test_a_driver_sees_that_another_one_has_taken_over(tmp_path):
    """On disks whose locks do not hold from one machine to another."""
    with Journal(tmp_path / "journal.jsonl", "r") as first, Journal(tmp_path / "journal.jsonl", "r") as second:
        first.take_over("a")
        first.refuse_other_driver()
        second.take_over("b")
        second.refuse_other_driver()
        with pytest.raises(RuntimeError, match="another process has taken over"):
            first.refuse_other_driver()


def test_a_working_directory_has_one_driver(tmp_path):
    with WorkDir(tmp_path / "work"), pytest.raises(RuntimeError, match="another process runs this pipeline"):
        WorkDir(tmp_path / "work")
    WorkDir(tmp_path / "work").close()


def test_a_divided_block_counts_when_all_its_pieces_are_there(tmp_path):
    with WorkDir(tmp_path) as work_dir, Journal(work_dir.journal_path, "r") as journal:
        work_dir.write_plan({})
        ledger = Ledger(work_dir, journal)
        ledger.commit(0, Task("0.0", 0, 0, 50), 3, Receipt("a", 40))
        assert ledger.done(0, {0: 100}, 1) == {}
        assert ledger.pieces(0, 0, 0) == []
        ledger.commit(0, Task("0.0", 0, 50, 50), 4, Receipt("c", 5))
        ledger.commit(0, Task("0.0", 0, 0, 50), 5, Receipt("b", 40))
        assert ledger.done(0, {0: 100}, 1) == {(0, 0): 45}
    with WorkDir(tmp_path) as work_dir, Journal(work_dir.journal_path, "r") as journal:
        again = Ledger(work_dir, journal)
        assert again.next_attempt == 6
        assert again.parts(0, 0, 0) == ["b", "c"]
        assert again.done(0, {0: 100}, 1) == {(0, 0): 45}


def test_what_was_not_committed_is_swept(tmp_path):
    with WorkDir(tmp_path) as work_dir, Journal(work_dir.journal_path, "r") as journal:
        ledger = Ledger(work_dir, journal)
        for name in ("kept.jinx", "kept.binx", "kept.jinx.signatures", "left.jinx", "left.binx"):
            (work_dir.parts / name).write_bytes(b"")
        (work_dir.parts / "folder").mkdir()
        ledger.commit(0, Task("0.0", 0, 0, 1), 0, Receipt("kept.jinx", 1))
        ledger.sweep()
        assert {path.name for path in work_dir.parts.iterdir()} == {"kept.jinx", "kept.binx", "kept.jinx.signatures"}
