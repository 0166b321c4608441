"""The local engine: worker processes on this machine."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from jinx_pipeline.engines.worker_backend import Died, Event, Request, event_of
from jinx_pipeline.schedule.task import Cause
from jinx_pipeline.worker.activity import PIPES_CLOSED, Activity, shared_file, too_late
from jinx_pipeline.worker.memory import over_limit, private_bytes
from jinx_pipeline.worker.work import Work, pickled

_WATCH_SECONDS = 0.1
# Of what workers print, so much is kept twice: in the log, and in the one before it.
_LOG_BYTES = 10_000_000
# One heap for all threads and for Arrow, so that many workers fit into memory: each heap keeps freed memory of its own.
# How much this one keeps, `freed_memory` says.
_SMALL_HEAPS = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}


@dataclass(eq=False)
class _Process:
    """A worker process and its pipes."""

    name: str
    process: subprocess.Popen[bytes]
    requests: Connection
    answers: Connection
    lifeline: int
    activity: Activity
    known_works: set[str] = field(default_factory=set[str])
    over_limit: bool = False
    gpu: str | None = None
    step: tuple[int, int] = (0, 0)
    step_since: float = 0.0
    late: str = ""


class LocalWorkers:
    """Worker processes of this machine.

    Args:
        log: The file to which workers write what operators print; its last 10 MB and those before them are kept.
        memory_limit: Bytes of memory of its own that a worker may use before it is killed; None: no limit.
        row_seconds: A worker that has taken longer for each row in its hands is killed; None: no limit.
        threads: Threads that one worker's kernels use.
        files: Python files with operators that the workers are to load.
        spare_pandas: Whether no operator can need pandas; see `pandas_import`.
    """

    def __init__(
        self,
        log: Path,
        *,
        memory_limit: int | None = None,
        row_seconds: float | None = None,
        threads: int = 1,
        files: tuple[str, ...] = (),
        spare_pandas: bool = False,
    ) -> None:
        self.log = log
        self._row_seconds = row_seconds
        self.may_lack_room = False
        self._memory_limit = memory_limit
        self._threads = threads
        self._files = files
        self._spare_pandas = spare_pandas
        self._processes: dict[str, _Process] = {}
        self._works: dict[str, bytes] = {}
        self._gpus = visible_gpus()
        self._number = 0
        self._last_look = self._last_log_look = 0.0

    def start(self, pool: str) -> str:
        """Start a process; a worker of the pool `gpu` has one GPU to itself, others see none."""
        self._number += 1
        name = f"{pool}-{self._number}"
        gpu = self._free_gpu() if pool == "gpu" else None
        to_worker, requests = os.pipe()[:2]
        answers, from_worker = os.pipe()[:2]
        held, lifeline = os.pipe()[:2]
        activity = shared_file()
        inherited = (to_worker, from_worker, held, activity)
        environment = {
            **_SMALL_HEAPS,
            **os.environ,
            # Set before the process imports anything, so that no library sees another device.
            "CUDA_VISIBLE_DEVICES": gpu or "",
            "OMP_NUM_THREADS": str(self._threads),
            "RAYON_NUM_THREADS": str(self._threads),
            "PYTHONPATH": os.pathsep.join(_import_path()),
        }
        try:
            busy_with = Activity(activity)
            with self.log.open("ab") as log:
                process = subprocess.Popen(  # noqa: S603 - our own module
                    [sys.executable, "-m", "jinx_pipeline.worker", *map(str, inherited)],
                    pass_fds=inherited,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    start_new_session=True,  # Ctrl-C is the driver's business
                )
        finally:
            for one in inherited:
                os.close(one)
        pipes = Connection(requests, readable=False), Connection(answers, writable=False)
        made = _Process(name, process, *pipes, lifeline, busy_with, gpu=gpu)
        self._processes[name] = made
        self._send(made, ("path", [path for path in sys.path if path]))
        if self._spare_pandas:
            self._send(made, ("spare",))
        if self._files:
            self._send(made, ("files", self._files))
        return name

    def load_work(self, key: str, work: Work) -> None:
        """Pickle a work, functions of scripts and notebooks included."""
        self._works[key] = pickled(work)

    def submit(self, worker: str, request: Request) -> None:
        """Send a task."""
        process = self._processes[worker]
        if request.work not in process.known_works:
            process.known_works.add(request.work)
            self._send(process, ("work", request.work, self._works[request.work]))
        self._send(process, ("task", request.work, request.source, request.task, request.attempt, request.path))

    def events(self, timeout: float) -> list[Event]:
        """What workers have answered, and which have died."""
        self._enforce_limits()
        self._rotate_log()
        by_pipe = {process.answers: process for process in self._processes.values()}
        found: list[Event] = []
        for pipe in wait(list(by_pipe), min(timeout, _WATCH_SECONDS)):
            process = by_pipe[pipe]  # pyright: ignore[reportArgumentType] - only pipes were given
            try:
                found.append(event_of(process.name, process.answers.recv()))
            except (EOFError, OSError):
                found.append(self._buried(process))
        return found

    def kill(self, worker: str) -> None:
        """End a worker at once."""
        process = self._processes.pop(worker, None)
        if process is not None:
            process.process.kill()
            _release(process)

    def close(self) -> None:
        """End all workers; those between tasks leave by themselves."""
        for process in self._processes.values():
            process.requests.close()
        for process in self._processes.values():
            process.process.kill()
            _release(process)
        self._processes.clear()
        self._last_log_look = 0.0
        self._rotate_log()

    def pids(self) -> dict[str, int]:
        """The processes, for tests and monitors."""
        return {name: one.process.pid for name, one in self._processes.items()}

    def _send(self, process: _Process, message: tuple[Any, ...]) -> None:
        with suppress(OSError):  # it has died; `events` says so
            process.requests.send(message)

    def _buried(self, process: _Process) -> Died:
        code = process.process.wait()
        self._processes.pop(process.name, None)
        operator = process.activity.get()
        _release(process)
        if process.over_limit:
            limit = self._memory_limit or 0
            return Died(process.name, Cause.MEMORY, over_limit(limit), operator)
        if process.late:
            return Died(process.name, Cause.TIMEOUT, process.late, operator)
        what = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        if code == PIPES_CLOSED:
            what = "the pipes to the driver were closed"
        return Died(process.name, Cause.DIED, what, operator)

    def busy_with(self, worker: str) -> str:
        """The operator that a worker is busy with."""
        return self._processes[worker].activity.get()

    def _enforce_limits(self) -> None:
        now = time.monotonic()
        if now - self._last_look < _WATCH_SECONDS:
            return
        self._last_look = now
        for process in self._processes.values():
            self._enforce_memory_limit(process)
            self._enforce_row_seconds(process, now)

    def _enforce_memory_limit(self, process: _Process) -> None:
        if self._memory_limit is None or process.over_limit:
            return
        if private_bytes(process.process.pid) > self._memory_limit:
            process.over_limit = True
            process.process.kill()

    def _enforce_row_seconds(self, process: _Process, now: float) -> None:
        """Kill a worker that hangs: it may do anything, such as wait for a pipe, so only its progress tells."""
        step = process.activity.step()
        if step != process.step:
            process.step, process.step_since = step, now
        _, rows = step
        if self._row_seconds is None or not rows or process.late:
            return
        if now - process.step_since > self._row_seconds * rows:
            process.late = too_late(self._row_seconds, rows)
            process.process.kill()

    def _rotate_log(self) -> None:
        """Keep the end of a log that has grown long under another name, and begin it again.

        The file stays the same one, because workers have it open; what they print meanwhile may be lost.
        """
        now = time.monotonic()
        if now - self._last_log_look < _WATCH_SECONDS:
            return
        self._last_log_look = now
        with suppress(OSError), self.log.open("r+b") as log:
            if (size := log.seek(0, os.SEEK_END)) > _LOG_BYTES:
                log.seek(size - _LOG_BYTES)
                self.log.with_name(f"{self.log.name}.1").write_bytes(log.read(_LOG_BYTES))
                log.truncate(0)

    def _free_gpu(self) -> str:
        if not self._gpus:
            raise RuntimeError("an operator needs a GPU, and this machine shows none")
        taken = [process.gpu for process in self._processes.values()]
        return min(self._gpus, key=taken.count)


def _release(process: _Process) -> None:
    process.process.wait()
    for pipe in (process.requests, process.answers):
        pipe.close()
    os.close(process.lifeline)
    process.activity.close()


def _import_path() -> list[str]:
    """Where a new process finds this package and jinx, wherever they were imported from."""
    import jinx
    import jinx_pipeline

    roots = [str(Path(one.__file__ or "").resolve().parents[1]) for one in (jinx_pipeline, jinx)]
    return list(dict.fromkeys([*roots, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]))


def visible_gpus() -> list[str]:
    """The GPUs of this machine, found without initialising CUDA in this process."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    if shown is not None:
        return [one for one in shown.split(",") if one]
    numbers = sorted(int(path.name[6:]) for path in Path("/dev").glob("nvidia[0-9]*") if path.name[6:].isdigit())
    return [str(number) for number in numbers]


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
