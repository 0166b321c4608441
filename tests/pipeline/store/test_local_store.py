"""A directory as a store: names lead to all of their bytes or to none."""

import os
from pathlib import Path

import pytest

from jinx_pipeline.store.local_log import LocalLog
from jinx_pipeline.store.local_store import LocalStore


@pytest.fixture
def store(tmp_path):
    (tmp_path / "folder").mkdir()
    return LocalStore(tmp_path)


def test_bytes_by_name(store):
    store.put("a", b"1")
    store.put("folder/b", b"2")
    store.put("a", b"3")
    assert (store.get("a"), store.get("folder/b")) == (b"3", b"2")
    assert (store.list(), store.list("folder"), store.list("none")) == (["a", "folder"], ["b"], [])
    store.delete("a")
    store.delete("a")
    store.delete("folder")
    assert store.list() == []
    with pytest.raises(FileNotFoundError):
        store.get("a")


def test_a_file_that_was_not_finished_has_no_name(store):
    store.put("a", b"old")
    writing = store.writing("a")
    writing.__enter__().write(b"new")
    with pytest.raises(RuntimeError):
        writing.gen.throw(RuntimeError())
    assert store.get("a") == b"old"


def test_a_link_is_removed_and_not_what_it_leads_to(store, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    store.delete("link")
    assert store.list() == ["folder"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_disk_that_fails_keeps_the_old_bytes(store, monkeypatch, failing):
    def fail(*_):
        raise OSError(28, "No space left on device")

    store.put("a", b"old")
    monkeypatch.setattr(os if failing == "fsync" else Path, failing, fail)
    with pytest.raises(OSError, match="No space"):
        store.put("a", b"new")
    assert store.get("a") == b"old"


def test_a_log_grows(tmp_path):
    log = LocalLog(tmp_path / "log")
    with pytest.raises(FileNotFoundError):
        list(log.lines())
    log.begin(b"first\n")
    with pytest.raises(FileExistsError):
        log.begin(b"again\n")
    with pytest.raises(RuntimeError, match="is not open"):
        log.append(b"x\n")
    log.open()
    assert log.append(b"second\n") == 6
    log.sync()
    assert (log.size(), list(log.lines()), list(log.lines(6))) == (13, [b"first\n", b"second\n"], [b"second\n"])
    assert list(log.lines_at([6, 0])) == [b"second\n", b"first\n"]
    log.append(b"cut")
    log.open(13)
    assert list(log.lines()) == [b"first\n", b"second\n"]
    log.close()
    log.close()


def test_a_log_that_was_replaced_is_another_one(tmp_path):
    log = LocalLog(tmp_path / "log")
    log.begin(b"first\n")
    log.open()
    (tmp_path / "log").rename(tmp_path / "old")
    assert log.size() is None
    LocalLog(tmp_path / "log").begin(b"first\n")
    assert log.size() is None
    log.close()
