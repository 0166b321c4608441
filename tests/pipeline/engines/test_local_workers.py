"""Worker processes of this machine: pipes that never block the driver, tasks that are left, and ends of workers."""

import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import replace
from multiprocessing.connection import Connection

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.engines.local import worker_processes
from jinx_pipeline.engines.local.launch import early_start
from jinx_pipeline.engines.local.message_pipe import MessagePipe
from jinx_pipeline.engines.local.room import Room
from jinx_pipeline.engines.local.worker_processes import LocalWorkers, Reserve
from jinx_pipeline.engines.worker_backend import Died, Finished, Ready, Request, Stopped
from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.plan.source import Source
from jinx_pipeline.schedule.task import Cause, Limits, Task


class Slow:
    """Batches of a tenth of a second, which say when they begin."""

    pool, poison, suffix, label = "cpu", "row", "", "slow"

    def __init__(self, batches: int, filling: bytes = b"") -> None:
        self.batches, self.filling = batches, filling

    def run(self, source, task, path, worker):
        del source, task, path
        for _ in range(self.batches):
            worker.busy_with("slow", 1)
            time.sleep(0.1)
        return Receipt(None, len(self.filling))


class Talkative:
    """Prints the name of its task."""

    pool, poison, suffix, label = "cpu", "row", "", "talkative"

    def run(self, source, task, path, worker):
        del source, task, worker
        sys.stdout.write(f"hello from {path.name}\n")
        sys.stdout.flush()
        return Receipt(None, 0)


@pytest.fixture
def workers(tmp_path):
    made = LocalWorkers(tmp_path / "workers.log", pools={"cpu": Resources()}, reserve=Reserve(Room((), 10**9)))
    yield made
    made.close()


def news(workers, count, seconds=50.0):
    until, found = time.monotonic() + seconds, []
    while len(found) < count and time.monotonic() < until:
        found += workers.events(0.1)
    return found


def submit(workers, worker, work, attempt):
    workers.submit(worker, Request(work, Source(), Task(work, 0, 0, 1), attempt, f"/nowhere/{attempt}"))


def test_a_worker_leaves_a_task_between_batches_and_does_the_next_one(workers):
    worker = workers.start("cpu")
    workers.load_work("long", Slow(3000))  # longer than anyone waits for news
    workers.load_work("short", Slow(1))
    assert news(workers, 1) == [Ready(worker)]
    for attempt, work in ((0, "long"), (1, "short")):
        submit(workers, worker, work, attempt)
    assert news(workers, 1, 0.3) == []
    workers.stop(worker, 0)
    assert news(workers, 2) == [Stopped(worker, 0), Finished(worker, 1, Receipt(None, 0))]
    submit(workers, worker, "short", 2)
    submit(workers, worker, "long", 3)
    workers.stop(worker, 3)
    assert news(workers, 2) == [Finished(worker, 2, Receipt(None, 0)), Stopped(worker, 3)]


def test_a_work_that_fills_the_pipe_is_sent_to_a_busy_worker_without_waiting(workers):
    worker = workers.start("cpu")
    workers.load_work("first", Slow(10))
    workers.load_work("large", Slow(1, b"x" * 5_000_000))
    assert news(workers, 1) == [Ready(worker)]
    submit(workers, worker, "first", 0)
    # It reads nothing: a process that waited for it would wait forever.
    os.kill(workers.pids()[worker], signal.SIGSTOP)
    submit(workers, worker, "large", 1)
    os.kill(workers.pids()[worker], signal.SIGCONT)
    assert [event.receipt.rows_out for event in news(workers, 2)] == [0, 5_000_000]


def test_half_a_message_of_a_stopped_process_does_not_stop_the_driver():
    to_worker, requests = os.pipe()
    answers, from_worker = os.pipe()
    pipe = MessagePipe(requests, answers)
    pipe.send({"a": 1})
    assert Connection(to_worker, writable=False).recv() == {"a": 1}
    os.write(from_worker, b"\x00\x00")
    assert pipe.receive() == []
    os.write(from_worker, b"\x00\x05hel")
    assert pipe.receive() == []
    os.close(from_worker)
    with pytest.raises(EOFError):
        pipe.receive()
    pipe.close()


def test_a_worker_that_does_not_end_is_not_waited_for(workers, monkeypatch):
    worker = workers.start("cpu")
    assert news(workers, 1) == [Ready(worker)]
    process = workers._processes[worker].process
    monkeypatch.setattr(type(process), "kill", lambda _: None)  # as if it waited in the kernel
    monkeypatch.setattr("jinx_pipeline.engines.local.worker_processes._END_SECONDS", 0.3)
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    workers.kill(worker)
    workers.close()
    assert workers._reserve.ended
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)


def make_busy(workers, worker, work):
    """Let a new worker begin a long task."""
    workers.load_work("long", work)
    assert news(workers, 1) == [Ready(worker)]
    submit(workers, worker, "long", 0)
    while workers.busy_with(worker) != "slow":
        assert workers.events(0.1) == []


def slow_worker(tmp_path, row_seconds):
    """A worker that runs batches of a tenth of a second, with a limit."""
    reserve = Reserve(Room((), 10**9))
    workers = LocalWorkers(tmp_path / "log", pools={"cpu": Resources()}, reserve=reserve, row_seconds=row_seconds)
    worker = workers.start("cpu")
    make_busy(workers, worker, Slow(3000))
    return workers, worker


def test_time_in_which_only_the_driver_was_busy_counts(tmp_path):
    workers, worker = slow_worker(tmp_path, 2)
    os.kill(workers.pids()[worker], signal.SIGSTOP)
    assert news(workers, 1, 0.3) == []
    time.sleep(2.5)
    workers._enforce_limits()
    assert workers._processes[worker].late
    workers.close()


def test_time_in_which_all_stood_still_does_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_processes, "_COUNTED_SECONDS", 1.0)
    workers, worker = slow_worker(tmp_path, 3)
    os.kill(workers.pids()[worker], signal.SIGSTOP)
    assert news(workers, 1, 0.3) == []
    time.sleep(3.5)
    os.kill(workers.pids()[worker], signal.SIGCONT)
    assert news(workers, 1, 0.5) == []
    # A worker that stands still alone is late.
    os.kill(workers.pids()[worker], signal.SIGSTOP)
    (died,) = news(workers, 1)
    assert (died.worker, died.cause) == (worker, Cause.TIMEOUT)
    workers.close()


def test_a_worker_that_dies_is_told_of_with_what_it_was_at(workers):
    worker = workers.start("cpu")
    make_busy(workers, worker, Slow(300))
    os.kill(workers.pids()[worker], signal.SIGKILL)
    assert news(workers, 1) == [Died(worker, Cause.DIED, "killed by SIGKILL", "slow")]


@pytest.mark.timeout(120)
def test_a_straggler_whose_copy_was_first_keeps_its_worker(tmp_path):
    """Whoever meets row 50 first is slow from then on; the copy of its task is first, and its worker leaves it."""
    marker = tmp_path / "marker"

    def slow(sample):
        import os
        import time

        if sample["n"] >= 50:
            with contextlib.suppress(FileExistsError), marker.open("x") as file:
                file.write(str(os.getpid()))
            if marker.read_text() == str(os.getpid()):
                time.sleep(2)
        return sample

    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n} for n in range(100))
    flow = jp.Dataset.load(tmp_path / "in.jinx").process(slow)
    options = replace(flow.recipe.options, workers=2, block_rows=50, batch_rows=1)
    recipe = replace(flow.recipe, options=options, export=jp.Export(str(tmp_path / "out.jinx")))
    result = jp.Run(recipe, limits=Limits(straggler_seconds=0.5, straggler_factor=2.0))()
    assert result.ok
    assert result.seconds < 80  # the slow worker alone would take 100
    events = [json.loads(line) for line in (tmp_path / "out.jinx.work" / "events.jsonl").read_text().splitlines()]
    kinds = [event["kind"] for event in events]
    assert "died" not in kinds
    assert len([event for event in events if event["kind"] == "ready"]) == 2


def test_the_worker_that_began_early_is_the_first_of_the_run_and_writes_to_its_log(workers):
    with early_start.started():
        assert early_start._launched is not None
        early = early_start._launched.process.pid
        names = [workers.start("cpu"), workers.start("cpu")]
        assert len(news(workers, 2)) == 2
        assert workers.pids()[names[0]] == early != workers.pids()[names[1]]
    workers.load_work("talk", Talkative())
    submit(workers, names[0], "talk", 7)
    assert isinstance(news(workers, 1)[0], Finished)
    assert "hello from 7" in workers.log.read_text()


def test_a_worker_that_began_early_and_that_no_run_took_is_ended():
    with early_start.started():
        assert early_start._launched is not None
        process = early_start._launched.process
    assert process.returncode == -signal.SIGKILL
    assert early_start.take() is None


def test_a_worker_that_began_early_and_has_died_is_not_taken(workers):
    with early_start.started():
        assert early_start._launched is not None
        early_start._launched.process.kill()
        early_start._launched.process.wait()
        workers.start("cpu")
        assert isinstance(news(workers, 1)[0], Ready)
