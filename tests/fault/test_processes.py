"""Forks, other processes and threads: all read the same, and none waits for another for ever."""

import importlib.util
import json
import subprocess
import sys
import threading

import pytest

import jinx
from fault import hammering, loading
from fault.rows import rows

WATCHDOG_SECONDS = 150


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.timeout(WATCHDOG_SECONDS + 30)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_data_loaders_of_every_start_method(method, directory, child_environment):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    path = directory / "data"
    with jinx.Writer(path, shard_size=8000) as writer:
        writer.write_many(rows(1, loading.SAMPLES))
    words = [sys.executable, "-m", "fault.loading", str(path), method, "0", "2", "8"]
    # The default, with locks that a fork copies.
    environment = {**child_environment, "MALLOC_ARENA_MAX": "8"}
    done = subprocess.run(words, env=environment, check=False, capture_output=True, text=True, timeout=WATCHDOG_SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [line.split() for line in done.stdout.splitlines()] == [
        [workers, str(loading.SAMPLES), "0"] for workers in ("0", "2", "8")
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_million_reads_of_threads_in_forks_are_right(directory, child_environment, soak, record_property):
    path = directory / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(hammering.row(number) for number in range(hammering.ROWS))
    reads = 10_000_000 if soak else 1_000_000
    words = [sys.executable, "-m", "fault.hammering", str(path), str(reads)]
    done = subprocess.run(words, env=child_environment, check=False, capture_output=True, text=True, timeout=590)
    assert done.returncode == 0, done.stderr[-2000:]
    count, wrong = map(int, done.stdout.split())
    record_property("reads", count)
    assert (count, wrong) == (reads, 0), done.stderr[-2000:]


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_threads_share_a_dataset(io, directory):
    path = directory / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(hammering.row(number) for number in range(hammering.ROWS))
    wrong: list[object] = []
    held = jinx.open(path, io=io)
    sample = held[7]

    def read() -> None:
        for number in range(2000):
            try:
                if dict(held[number % hammering.ROWS]) != hammering.row(number % hammering.ROWS):
                    wrong.append(number)
            except Exception as error:  # noqa: BLE001 - reported below
                wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=50)
        assert not thread.is_alive()
    assert wrong == []
    assert dict(sample) == hammering.row(7)


def test_a_pickled_dataset_opens_in_a_process_that_knows_nothing(directory, child_environment):
    import pickle

    path = directory / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(rows(1))
    (directory / "pickled").write_bytes(pickle.dumps(jinx.open(path, io="pread", verify="full")))
    code = "import pickle, sys; ds = pickle.load(open(sys.argv[1], 'rb')); print(len(ds), ds[3]['id'])"
    words = [sys.executable, "-c", code, str(directory / "pickled")]
    done = subprocess.run(words, env=child_environment, check=True, capture_output=True, text=True, timeout=50)
    assert done.stdout.split() == ["20", "1-3"]
    with jinx.Writer(path, overwrite=True) as writer:
        writer.write_many(rows(2))
    done = subprocess.run(words, env=child_environment, check=False, capture_output=True, text=True, timeout=50)
    assert done.returncode != 0
    assert "MismatchError" in done.stderr, json.dumps(done.stderr[-500:])
