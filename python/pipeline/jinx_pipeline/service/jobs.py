"""The jobs of a service: a queue in a directory; each job is a process that outlives the server."""

import os
import re
import secrets
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from jinx_pipeline.service.children import signal_job, start_job
from jinx_pipeline.service.errors import ServiceError, not_found
from jinx_pipeline.service.job_files import ENDED, MAX_STARTS, JobFiles, JobOrder
from jinx_pipeline.service.plans import Plan, refuse_changed
from jinx_pipeline.service.types import JobState
from jinx_pipeline.store.file_lock import FileLock, LockedError

if TYPE_CHECKING:
    import subprocess

_LOOK_SECONDS: Final = 0.1
# How long a cancelled process may take to end by itself.
_GRACE_SECONDS: Final = 10.0
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True)
class JobLimits:
    """The limits for jobs.

    Attributes:
        running: Jobs at the same time.
        queued: Jobs that wait; more are refused.
        workers: Workers of a job.
        memory: Bytes that a worker may use; None: its share of the machine's.
        seconds: The longest duration of a job.
    """

    running: int = 1
    queued: int = 1000
    workers: int = 2
    memory: int | None = None
    seconds: float = 24 * 3600.0


class Jobs:
    """The jobs in a directory, which only one server at a time may use.

    Args:
        directory: The directory.
        limits: The limits.

    Raises:
        RuntimeError: Another server has the directory.
    """

    def __init__(self, directory: Path, limits: JobLimits) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        try:
            self._file_lock = FileLock(directory / "lock")
        except LockedError:
            raise RuntimeError(f"{directory}: another server has it; stop that one, or name another --state") from None
        self._directory, self.limits = directory, limits
        found = [JobFiles(path) for path in directory.iterdir() if path.is_dir() and not path.name.startswith(".")]
        self._jobs = {job.id: job for job in sorted(found, key=lambda job: job.order.number)}
        self._ended: dict[str, JobState] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._asked: dict[str, float] = {}
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)

    def start(self) -> Self:
        """Begin to start jobs."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Start no more jobs; running jobs continue, and a later server finds them."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        for process in self._processes.values():
            if process.poll() is None:
                process.returncode = 0  # keeps Python from warning that the process still runs
        self._file_lock.close()

    def add(self, plan: Plan, key: str | None = None) -> tuple[JobFiles, bool]:
        """Queue a plan; returns the job, and whether it is new.

        Args:
            plan: The plan.
            key: A request with the same key as an earlier one gets its job.

        Raises:
            ServiceError: The queue is full, the key belongs to a job of another plan, the plan has no output, or an
                input has changed since the plan was made.
        """
        if key is not None and not _KEY.fullmatch(key):
            raise ServiceError(422, "bad_key", "an Idempotency-Key has 1 to 200 visible ASCII characters")
        with self._lock:
            known = None if key is None else next((job for job in self._jobs.values() if job.order.key == key), None)
            if known is not None and known.order.plan != plan.id:
                raise ServiceError(409, "other_plan", f"the key belongs to {known.id}, a job of another plan")
            if known is not None:
                return known, False
            if not plan.writes:
                raise ServiceError(422, "no_output", "the plan has no export: it can be tried, and not be run")
            refuse_changed(plan.inputs)
            if sum(self.state(job) == "queued" for job in self._jobs.values()) >= self.limits.queued:
                raise ServiceError(429, "queue_full", f"{self.limits.queued:,} jobs wait already", retry_seconds=30)
            number = 1 + max((job.order.number for job in self._jobs.values()), default=0)
            directory = self._directory / f"{number:06}-{secrets.token_hex(4)}"
            outputs = outputs_of(plan.data)
            order = JobOrder(number, plan.id, time.time(), key, plan.reads, plan.writes, outputs, plan.inputs)
            job = JobFiles.create(directory, order, self._with_limits(plan.data, directory / "work"))
            self._jobs[job.id] = job
        self._wake.set()
        return job, True

    def get(self, job_id: str) -> JobFiles:
        """A job by its id.

        Raises:
            ServiceError: There is no such job.
        """
        try:
            return self._jobs[job_id]
        except KeyError:
            raise not_found(f"there is no job {job_id[:40]!r}") from None

    def all(self) -> list[JobFiles]:
        """All jobs, newest first."""
        return list(reversed(list(self._jobs.values())))

    def state(self, job: JobFiles) -> JobState:
        """The state of a job; if the job has ended, it is read only once."""
        known = self._ended.get(job.id)
        if known is not None:
            return known
        state = job.state
        if state in ENDED:
            self._ended[job.id] = state
        return state

    def cancel(self, job: JobFiles) -> None:
        """Cancel a job: its process ends soon, and no incomplete output stays. An ended job stays as it is."""
        with self._lock:
            if self.state(job) not in ENDED:
                job.ask_to_cancel()
        self._wake.set()

    def _with_limits(self, data: dict[str, Any], work_dir: Path) -> dict[str, Any]:
        memory = {} if self.limits.memory is None else {"memory": self.limits.memory}
        return {**data, **memory, "workers": self.limits.workers, "work_dir": str(work_dir.absolute())}

    def _run(self) -> None:
        while not self._stop.is_set():
            with self._lock:
                self._look()
            self._wake.wait(_LOOK_SECONDS)
            self._wake.clear()

    def _look(self) -> None:
        """Check all jobs: reap ended processes, end those that must end, and start what may start."""
        for job_id in [job_id for job_id, process in self._processes.items() if process.poll() is not None]:
            del self._processes[job_id]
        unfinished = [job for job in self._jobs.values() if job.id not in self._ended]
        states = {job.id: self.state(job) for job in unfinished}
        running = [job for job in unfinished if states[job.id] in {"running", "cancelling"}]
        for job in running:
            self._watch(job, states[job.id])
        free = self.limits.running - len(running)
        for job in unfinished:
            if states[job.id] != "queued" or free <= 0:
                continue
            if job.starts() >= MAX_STARTS:
                job.fail(f"its process ended {MAX_STARTS} times without a result; see the log")
            elif self._start(job):
                free -= 1

    def _start(self, job: JobFiles) -> bool:
        descriptor = job.lock()
        if descriptor is None:
            return False
        try:
            job.note_start()
            self._processes[job.id] = start_job(job.directory, descriptor)
        finally:
            os.close(descriptor)  # the process shares the descriptor; the lock lasts until both have closed it
        return True

    def _watch(self, job: JobFiles, state: str) -> None:
        """End the process of a job that was cancelled or takes too long."""
        started = job.started()
        if state == "running":
            if started is not None and time.time() - started > self.limits.seconds:
                job.ask_to_cancel(f"it took longer than {self.limits.seconds:g} s")
            return
        if not job.is_running():
            job.finish_cancelling()
            return
        process, now = self._processes.get(job.id), time.monotonic()
        pid = job.pid() if process is None else process.pid
        if pid is None:
            return
        if job.id not in self._asked:
            self._asked[job.id] = now
            signal_job(pid, signal.SIGTERM)
        elif now - self._asked[job.id] > _GRACE_SECONDS:
            signal_job(pid, signal.SIGKILL)


def outputs_of(data: dict[str, Any]) -> list[str]:
    """The paths of the outputs of a placed recipe."""
    nodes = data.get("nodes")
    sections = [data.get("export")]
    if isinstance(nodes, dict):
        sections += [node.get("sink") for node in nodes.values() if isinstance(node, dict)]
    paths = [section.get("path") if isinstance(section, dict) else section for section in sections]
    return [path for path in paths if isinstance(path, str)]
