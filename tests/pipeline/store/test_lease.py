"""Locks in object stores: one holder at a time, and the dead hold nothing."""

import json
import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

from jinx_pipeline.store import lease, mirror
from jinx_pipeline.store.file_lock import LockedError
from jinx_pipeline.store.lease import Lease
from pipeline.store.objects import Objects

URL = "s3://bucket/work/lock"


@pytest.fixture
def objects(monkeypatch):
    made = Objects()
    for module in (mirror, lease):
        monkeypatch.setattr(module, "object_store", lambda: made)
    for name, seconds in {"_BEAT_SECONDS": 0.05, "_DEAD_SECONDS": 0.5, "_LOOK_SECONDS": 0.02}.items():
        monkeypatch.setattr(lease, name, seconds)
    return made


def of_another_machine(objects):
    content = json.loads(objects.data[URL].data)
    objects.put(URL, json.dumps({**content, "host": "elsewhere", "pid": 1}).encode())


def test_a_second_process_is_refused_while_the_first_one_lives(objects):
    with Lease(URL, "mine"), pytest.raises(LockedError, match="mine"):
        Lease(URL)
    with Lease(URL, "again"):
        pass
    assert objects.data == {}


def test_a_holder_on_another_machine_is_seen_by_its_beats(objects, monkeypatch):
    with Lease(URL, "far"):
        monkeypatch.setattr(lease, "_host", lambda: "here")
        with pytest.raises(LockedError, match="far"):
            Lease(URL)


def test_a_lock_whose_holder_was_killed_is_taken_at_once_here_and_after_a_while_elsewhere(objects, monkeypatch):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    started = psutil.Process(child.pid).create_time()
    child.kill()
    child.wait()
    holder = {"token": "x", "pid": child.pid, "started": started, "beat": 3, "text": "dead"}
    objects.put(URL, json.dumps({**holder, "host": lease._host()}).encode())
    with monkeypatch.context() as patience:
        patience.setattr(lease, "_DEAD_SECONDS", 3600)  # so that nobody waits so long for it
        Lease(URL).close()
    objects.put(URL, json.dumps({**holder, "host": "elsewhere"}).encode())
    begun = time.monotonic()
    with Lease(URL):
        assert time.monotonic() - begun >= 0.5


def test_of_processes_that_find_a_dead_lock_one_takes_it(objects):
    holder = {"token": "x", "host": "elsewhere", "pid": 1, "started": 0.0, "beat": 3, "text": "dead"}
    objects.put(URL, json.dumps(holder).encode())
    taken, refused = [], []

    def take():
        try:
            taken.append(Lease(URL))
        except LockedError:
            refused.append(1)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(taken), len(refused)) == (1, 3)
    taken[0].close()


def test_a_holder_that_was_stopped_does_not_remove_the_lock_of_the_next(objects):
    stopped = Lease(URL)
    stopped._ended.set()
    stopped._thread.join()
    of_another_machine(objects)
    with Lease(URL, "next"):
        stopped.close()
        assert json.loads(objects.data[URL].data)["text"] == "next"
    assert objects.data == {}


def test_a_store_without_conditional_writes_is_refused(objects):
    objects.is_conditional = False
    with pytest.raises(OSError, match="does not support conditional writes"):
        Lease(URL)
    assert objects.data == {}


def test_a_store_that_fails_for_a_moment_loses_no_lock(objects):
    with Lease(URL) as held:
        fails = iter([True] * 3)
        objects.faults = [lambda method, url: "fail" if next(fails, False) else None]
        time.sleep(0.4)
        objects.faults = []
        assert json.loads(objects.data[URL].data)["token"] == held._holder.token
    assert os.getpid()
