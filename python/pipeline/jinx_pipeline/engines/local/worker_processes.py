"""The local engine: worker processes on this machine."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jinx_pipeline.engines.local.fork_server import ForkedProcess
from jinx_pipeline.engines.local.launch import early_start, launch, worker_environment
from jinx_pipeline.engines.local.message_pipe import MessagePipe
from jinx_pipeline.engines.local.room import Room, Share
from jinx_pipeline.engines.worker_backend import Died, Event, Request, event_of
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.schedule.task import Cause
from jinx_pipeline.worker.activity import PIPES_CLOSED, WATCH_SECONDS, Activity, Stopwatch, timeout_message
from jinx_pipeline.worker.memory import memory_limit_message, private_bytes
from jinx_pipeline.worker.work import Work, pickled

# How much of the time between two looks at the workers counts. The driver itself may be busy for seconds between them.
_COUNTED_SECONDS = 10.0
# How long to wait for one killed process, which usually ends at once, and for all processes at the end of a run.
_REAP_SECONDS, _END_SECONDS = 0.2, 5.0
# How much of the workers' log remains when it is shortened; this happens at twice this size.
_LOG_BYTES = 10_000_000
# The kept part begins with a whole line, unless the line at the cut is longer than this.
_CUT_LINE_BYTES = 100_000


class Kind(NamedTuple):
    """The fixed properties of a process: only a run that needs the same properties can reuse it."""

    resources: Resources
    threads: int
    spares_pandas: bool


@dataclass(eq=False)
class _Process:
    """A worker process and its pipes."""

    name: str
    process: subprocess.Popen[bytes] | ForkedProcess
    pipe: MessagePipe
    lifeline: int
    activity: Activity
    share: Share
    memory_limit: int | None
    kind: Kind
    is_ready: bool = False
    # The number of outstanding answers for earlier runs; they will be ignored.
    late_answers: int = 0
    tasks: int = 0
    known_works: set[str] = field(default_factory=set[str])
    over_limit: bool = False
    step: tuple[int, int] = (0, 0)
    step_seconds: float = 0.0
    late: str = ""


@dataclass
class Reserve:
    """Processes between two runs, and the resources of all processes; the owner lends workers to several runs.

    Attributes:
        room: GPUs and memory for all workers together.
        processes: Processes without a run, by kind.
        ended: Processes that were killed and have not ended yet.
    """

    room: Room
    processes: dict[Kind, list[_Process]] = field(default_factory=dict[Kind, "list[_Process]"])
    ended: list[_Process] = field(default_factory=list["_Process"])

    def take(self, kind: Kind) -> _Process | None:
        """A live process of a kind, if there is one."""
        waiting = self.processes.get(kind, [])
        while waiting:
            process = waiting.pop()
            if process.process.poll() is None:
                return process
            self.release(process)
        return None

    def keep(self, process: _Process) -> None:
        """Keep a process that a run no longer needs."""
        self.processes.setdefault(process.kind, []).append(process)

    def end_others(self, kinds: Collection[Kind]) -> None:
        """End the kept processes of other kinds."""
        for kind in [kind for kind in self.processes if kind not in kinds]:
            for process in self.processes.pop(kind):
                process.process.kill()
                self.release(process)

    def release(self, process: _Process) -> int | None:
        """Close a process that ends; returns its exit code, if it ends at once.

        A process that waits in the kernel, for a file server or a device driver, may not end for a long time; it keeps
        its share of the room until `reap` finds that it has ended.
        """
        process.pipe.close()
        process.activity.close()
        self.ended.append(process)
        try:
            process.process.wait(_REAP_SECONDS)
        except subprocess.TimeoutExpired:
            process.process.kill()
        # Close the pipes only now: closing them earlier would end the process, and its exit code would hide the real
        # cause.
        os.close(process.lifeline)
        self.reap()
        return process.process.returncode

    def reap(self) -> None:
        """Return the resources of processes that have ended."""
        for process in [process for process in self.ended if process.process.poll() is not None]:
            self.ended.remove(process)
            self.room.give_back(process.share)

    def wait(self) -> None:
        """Wait for killed processes, up to a time limit."""
        until = time.monotonic() + _END_SECONDS
        while self.ended and time.monotonic() < until:
            time.sleep(_REAP_SECONDS)
            self.reap()

    def close(self) -> None:
        """End all processes."""
        self.end_others(())
        self.wait()


class LocalWorkers:
    """Worker processes of this machine.

    Args:
        log: The file for the output of operators; at least its last 10 MB are kept, and at most 20 MB.
        pools: The resources that a worker of each pool must have.
        reserve: Processes of earlier runs, and the room of all workers together.
        is_lent: Whether the processes return to the reserve at the end instead of being ended.
        memory_limits: Bytes of private memory that a worker of each pool may use before it is killed; a pool that is
            missing has no limit.
        row_seconds: A worker that takes longer for each row of its activity is killed; None for no limit.
        threads: Threads that one worker's kernels use.
        files: Python files with operators for the workers to load.
        spare_pandas: Whether no operator can need pandas; see `pandas_import`.
    """

    def __init__(
        self,
        log: Path,
        *,
        pools: Mapping[str, Resources],
        reserve: Reserve,
        is_lent: bool = False,
        memory_limits: Mapping[str, int] | None = None,
        row_seconds: float | None = None,
        threads: int = 1,
        files: tuple[str, ...] = (),
        spare_pandas: bool = False,
    ) -> None:
        self.log = log
        self._row_seconds = row_seconds
        self._pools = pools
        self._reserve = reserve
        self._is_lent = is_lent
        self.may_lack_room = any(needs.gpus or needs.memory for needs in pools.values())
        self._memory_limits = memory_limits or {}
        # The pool of each worker that waits for resources, by the name of the worker.
        self._waiting: dict[str, str] = {}
        self._threads = threads
        self._files = files
        self._spare_pandas = spare_pandas
        self._processes: dict[str, _Process] = {}
        self._works: dict[str, bytes] = {}
        self._number = 0
        reserve.end_others([self._kind(pool) for pool in pools])
        self._last_log_look = 0.0
        self._stopwatch = Stopwatch(_COUNTED_SECONDS)

    def start(self, pool: str) -> str:
        """Start a process, at once or when its GPUs and memory are free."""
        self._number += 1
        name = f"{pool}-{self._number}"
        self._waiting[name] = pool
        self._start_waiting()
        return name

    def _start_waiting(self) -> None:
        """Start waiting workers for which there are free resources now."""
        for name, pool in list(self._waiting.items()):
            process = self._reserve.take(self._kind(pool))
            if process is None:
                share = self._reserve.room.take(self._pools[pool])
                process = None if share is None else self._started(name, pool, share)
            else:
                process = self._renewed(name, pool, process)
            if process is not None:
                del self._waiting[name]
                self._processes[name] = process
                self._introduce(process)

    def _kind(self, pool: str) -> Kind:
        return Kind(self._pools[pool], max(self._threads, int(self._pools[pool].cpus)), self._spare_pandas)

    def _renewed(self, name: str, pool: str, process: _Process) -> _Process:
        """A process from an earlier run, after it has reset itself for this run."""
        parts = process.process, process.pipe, process.lifeline, process.activity, process.share
        renewed = _Process(name, *parts, self._memory_limits.get(pool), process.kind)
        renewed.late_answers = process.late_answers + (not process.is_ready)
        self._send(
            renewed,
            ("renew", worker_environment(process.kind.threads, process.share.gpus), str(Path.cwd()), str(self.log)),
        )
        return renewed

    def _introduce(self, process: _Process) -> None:
        """Send a process everything that it needs before its first task."""
        self._send(process, ("path", [path for path in sys.path if path]))
        if self._spare_pandas:
            self._send(process, ("spare",))
        if self._files:
            self._send(process, ("files", self._files))

    def _started(self, name: str, pool: str, share: Share) -> _Process:
        """Start a process that sees only its own GPUs."""
        kind = self._kind(pool)
        # What was started early is for one thread and no GPU.
        is_simple = kind.threads == 1 and not share.gpus
        early = early_start.take() if is_simple else None
        with self.log.open("ab") as log:
            server = early_start.server if is_simple else None
            launched = early or launch(worker_environment(kind.threads, share.gpus), log, server)
        process = _Process(name, *launched, share, self._memory_limits.get(pool), kind)
        if early is not None:
            self._send(process, ("log", str(self.log)))
        return process

    def load_work(self, key: str, work: Work) -> None:
        """Pickle a work, with functions of scripts and notebooks."""
        self._works[key] = pickled(work)

    def submit(self, worker: str, request: Request) -> None:
        """Send a task."""
        process = self._processes[worker]
        if request.work not in process.known_works:
            process.known_works.add(request.work)
            self._send(process, ("work", request.work, self._works[request.work]))
        process.tasks += 1
        self._send(process, ("task", request.work, request.source, request.task, request.attempt, request.path))

    def takes_ahead(self, worker: str) -> bool:
        """Always true: every process reads its next task after the current one."""
        del worker
        return True

    def stop(self, worker: str, attempt: int) -> None:
        """Mark the task as cancelled in shared memory."""
        if worker in self._processes:
            self._processes[worker].activity.mark_unwanted(attempt)

    def events(self, timeout: float) -> list[Event]:
        """The answers of workers, and the deaths of workers."""
        self._start_waiting()
        self._enforce_limits()
        self._shorten_log()
        self._reserve.reap()
        events: list[Event] = []
        for process in self._readable_processes(min(timeout, WATCH_SECONDS)):
            try:
                events += filter(None, (self._event_of(process, answer) for answer in process.pipe.receive()))
            except (EOFError, OSError):
                events.append(self._remove_dead(process))
        return events

    def _event_of(self, process: _Process, answer: tuple[Any, ...]) -> Event | None:
        if process.late_answers:
            process.late_answers -= answer[0] == "ready"
            return None
        if answer[0] == "ready":
            process.is_ready = True
        elif answer[1] >= 0:  # otherwise the answer is not for a task
            process.tasks -= 1
        return event_of(process.name, answer)

    def _readable_processes(self, timeout: float) -> list[_Process]:
        """Processes that have answered or ended; meanwhile, unsent bytes are written to the others."""
        until = time.monotonic() + timeout
        while True:
            poll = select.poll()
            by_file: dict[int, _Process] = {}
            for process in self._processes.values():
                by_file[process.pipe.answers] = process
                poll.register(process.pipe.answers, select.POLLIN)
                if process.pipe.has_unsent:
                    by_file[process.pipe.requests] = process
                    poll.register(process.pipe.requests, select.POLLOUT)
            ready = poll.poll(max(until - time.monotonic(), 0.0) * 1000)
            for file, _ in ready:
                with suppress(OSError):  # the process has died; reading from its pipe will show that
                    by_file[file].pipe.flush()
            readable = [by_file[file] for file, _ in ready if file == by_file[file].pipe.answers]
            if readable or time.monotonic() >= until:
                return readable

    def kill(self, worker: str) -> None:
        """Kill a worker."""
        self._waiting.pop(worker, None)
        process = self._processes.pop(worker, None)
        if process is not None:
            process.process.kill()
            self._reserve.release(process)

    def close(self) -> None:
        """End all workers; if they are lent, return those without a task."""
        for name, process in list(self._processes.items()) if self._is_lent else ():
            if not process.tasks and not process.over_limit and not process.late:
                del self._processes[name]
                self._reserve.keep(process)
        for process in self._processes.values():
            process.pipe.close_requests()
            process.process.kill()
        for process in self._processes.values():
            self._reserve.release(process)
        self._processes.clear()
        self._waiting.clear()
        self._reserve.wait()
        self._last_log_look = 0.0
        self._shorten_log()

    def pids(self) -> dict[str, int]:
        """The process ids, for tests and monitoring."""
        return {name: process.process.pid for name, process in self._processes.items()}

    def _send(self, process: _Process, message: tuple[Any, ...]) -> None:
        with suppress(OSError):  # the process has died; `events` reports it
            process.pipe.send(message)

    def _remove_dead(self, process: _Process) -> Died:
        self._processes.pop(process.name, None)
        operator = process.activity.get()
        code = self._reserve.release(process)
        if process.over_limit:
            return Died(process.name, Cause.MEMORY, memory_limit_message(process.memory_limit or 0), operator)
        if process.late:
            return Died(process.name, Cause.TIMEOUT, process.late, operator)
        reason = "it does not end"
        if code is not None:
            reason = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        if code == PIPES_CLOSED:
            reason = "the pipes to the driver were closed"
        return Died(process.name, Cause.DIED, reason, operator)

    def busy_with(self, worker: str) -> str:
        """The operator that a worker runs."""
        return self._processes[worker].activity.get() if worker in self._processes else ""

    def _enforce_limits(self) -> None:
        if self._stopwatch.seconds < WATCH_SECONDS:
            return
        seconds = self._stopwatch.lap()
        for process in self._processes.values():
            self._enforce_memory_limit(process)
            self._enforce_row_seconds(process, seconds)

    def _enforce_memory_limit(self, process: _Process) -> None:
        if process.memory_limit is None or process.over_limit:
            return
        if private_bytes(process.process.pid) > process.memory_limit:
            process.over_limit = True
            process.process.kill()

    def _enforce_row_seconds(self, process: _Process, seconds: float) -> None:
        """Kill a worker that makes no progress, which is the only sign that it hangs."""
        step = process.activity.step()
        process.step_seconds = process.step_seconds + seconds if step == process.step else 0.0
        process.step = step
        _, rows = step
        if self._row_seconds is None or not rows or process.late:
            return
        if process.step_seconds > self._row_seconds * rows:
            process.late = timeout_message(self._row_seconds, rows)
            process.process.kill()

    def _shorten_log(self) -> None:
        """Remove the beginning of a long log.

        The file is not replaced, because workers have it open; what they write at this very moment may be lost.
        """
        now = time.monotonic()
        if now - self._last_log_look < WATCH_SECONDS:
            return
        self._last_log_look = now
        with suppress(OSError), self.log.open("a+b") as log:
            if (size := log.seek(0, os.SEEK_END)) > 2 * _LOG_BYTES:
                log.seek(size - _LOG_BYTES - _CUT_LINE_BYTES)
                log.readline(_CUT_LINE_BYTES)
                last = log.read()
                log.truncate(0)
                log.write(b"(%d bytes before this were removed)\n%b" % (size - len(last), last))


def visible_gpus() -> list[str]:
    """The GPUs of this machine, found without initialising CUDA in this process."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name for name in visible.split(",") if name]
    numbers = sorted(int(path.name[6:]) for path in Path("/dev").glob("nvidia[0-9]*") if path.name[6:].isdigit())
    return [str(number) for number in numbers]


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
