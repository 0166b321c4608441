"""Answers in one file for each machine."""

import multiprocessing
import os
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from jinx_pipeline.operators.api import answer_store
from jinx_pipeline.operators.api.answer_store import AnswerStore

KEY = bytes(range(16))


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_the_first_answer_is_kept(tmp_path):
    store = AnswerStore(tmp_path / "answers")
    assert store.get(KEY) is None
    assert store.put(KEY, b"1") == b"1"
    assert store.put(KEY, b"2") == b"1"
    assert AnswerStore(tmp_path / "answers").get(KEY) == b"1"


def test_thousands_of_answers_are_one_file(tmp_path):
    store = AnswerStore(tmp_path)
    for number in range(2000):
        store.put(key(number), b"answer %d" % number)
    assert len(list(tmp_path.glob("*.sqlite"))) == 1
    assert len(list(tmp_path.iterdir())) <= 3
    assert [store.get(key(number)) for number in (0, 1999, 2000)] == [b"answer 0", b"answer 1999", None]


def filled(folder, first, ready):
    store = AnswerStore(folder)
    for number in range(first, first + 200):
        store.put(key(number), b"%d" % number)
    ready.set()
    signal.pause()


def test_a_process_that_is_killed_loses_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    readies = [context.Event() for _ in range(2)]
    workers = [context.Process(target=filled, args=(tmp_path, 100 * at, ready)) for at, ready in enumerate(readies)]
    for worker in workers:
        worker.start()
    assert all(ready.wait(60) for ready in readies)
    for worker in workers:
        worker.kill()
        worker.join()
    store = AnswerStore(tmp_path)
    assert [store.get(key(number)) for number in range(300)] == [b"%d" % number for number in range(300)]


def test_threads_share_a_store(tmp_path):
    store = AnswerStore(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda number: store.put(key(number % 50), b"%d" % number), range(400)))
    assert kept == [store.get(key(number % 50)) for number in range(400)]


def test_a_process_that_was_forked_opens_the_file_itself(tmp_path):
    store = AnswerStore(tmp_path)
    store.put(KEY, b"1")
    child = os.fork()
    if not child:
        store.put(key(1), b"2")
        os._exit(0 if store.get(KEY) == b"1" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.get(key(1)) == b"2"


def test_machines_read_what_others_have_kept(tmp_path, monkeypatch):
    stores = {}
    for name in ("a", "b"):
        monkeypatch.setattr(answer_store, "_machine", lambda name=name: name)
        stores[name] = AnswerStore(tmp_path)
        for number in range(1000):
            stores[name].put(name.encode() * 8 + number.to_bytes(8, "big"), b"x" * 2000)
    # Without what is in the log of the other machine, which only processes there may read.
    first = b"a" * 8 + bytes(8)
    assert stores["b"].get(first) == b"x" * 2000
    assert sorted(path.name for path in tmp_path.glob("*.sqlite")) == ["a.sqlite", "b.sqlite"]


def test_what_another_machine_is_writing_is_no_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(answer_store, "_machine", lambda: "a")
    AnswerStore(tmp_path).put(KEY, b"right")
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as file:
        with file:
            file.execute("UPDATE answers SET answer = ?", (b"wrong",))
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    monkeypatch.setattr(answer_store, "_machine", lambda: "b")
    assert AnswerStore(tmp_path).get(KEY) is None
    (tmp_path / "a.sqlite").write_bytes(b"no database" * 500)
    assert AnswerStore(tmp_path).get(KEY) is None


def test_a_damaged_file_is_put_aside(tmp_path):
    AnswerStore(tmp_path).put(KEY, b"1")
    (path,) = tmp_path.glob("*.sqlite")
    for left in tmp_path.glob("*.sqlite-*"):
        left.unlink()
    path.write_bytes(b"\0no database" * 1000)
    store = AnswerStore(tmp_path)
    assert store.get(KEY) is None
    assert store.put(KEY, b"2") == b"2"
    assert AnswerStore(tmp_path).get(KEY) == b"2"
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


def test_answers_of_earlier_versions_are_read(tmp_path):
    old = tmp_path / KEY.hex()[:2] / f"{KEY.hex()}.json"
    old.parent.mkdir()
    old.write_bytes(b'{"text": "A"}')
    assert AnswerStore(tmp_path).get(KEY) == b'{"text": "A"}'


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        AnswerStore(tmp_path / "file").get(KEY)
