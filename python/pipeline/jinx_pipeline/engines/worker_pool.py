"""The workers of a run, and what each of them does; whatever node it is for."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from jinx_pipeline.engines.worker_backend import WorkerBackend
from jinx_pipeline.schedule.task import Lease


@dataclass(slots=True, eq=False)
class Assignment:
    """A task that was sent to a worker.

    Attributes:
        lease: The lease.
        path: The part that it writes.
        begun: Since when the worker is at it, as far as is known here; None: it waits behind another.
        kill_at: It is not wanted any more, and its worker is ended then; None: it is wanted.
    """

    lease: Lease
    path: str
    begun: float | None
    kill_at: float | None = None


@dataclass
class WorkerPool:
    """The workers that were started and have not ended, over all nodes of a run.

    Attributes:
        workers: The engine's.
        pool_of: The pool of each worker.
        starting: Since when workers start that have not been ready yet.
        idle: Those that wait for work, by pool, in the order in which they began to wait.
        single: Those that have one task, by pool: another may be sent, so that they need not wait for it.
        double: Those that have two, by pool.
        assignments: The tasks of all that have some, in the order in which each worker does them.
        unwanted: Workers with a task that is not wanted any more, and when the first of them is ended.
    """

    workers: WorkerBackend
    pool_of: dict[str, str] = field(default_factory=dict[str, str])
    starting: dict[str, float] = field(default_factory=dict[str, float])
    idle: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    single: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    double: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    assignments: dict[str, list[Assignment]] = field(default_factory=dict[str, list[Assignment]])
    unwanted: dict[str, float] = field(default_factory=dict[str, float])
    _counts: Counter[str] = field(default_factory=Counter[str])
    _busy_counts: Counter[str] = field(default_factory=Counter[str])

    def start(self, pool: str) -> None:
        """Start a worker."""
        worker = self.workers.start(pool)
        self.pool_of[worker], self.starting[worker] = pool, time.monotonic()
        self._counts[pool] += 1

    def mark_idle(self, worker: str) -> None:
        """A worker is ready."""
        self.starting.pop(worker, None)
        self._place(worker)

    def assign(self, worker: str, assignment: Assignment) -> None:
        """A worker was given a task."""
        self.assignments.setdefault(worker, []).append(assignment)
        self._place(worker)

    def end(self, worker: str, attempt: int) -> Assignment | None:
        """A worker has left a task; the next one of its tasks begins. Returns the task, if it had it."""
        assignments = self.assignments.get(worker, [])
        ended = next((one for one in assignments if one.lease.attempt == attempt), None)
        if ended is None:
            return None
        assignments.remove(ended)
        if not assignments:
            del self.assignments[worker]
        elif assignments[0].begun is None:
            assignments[0].begun = time.monotonic()
        self._settle_unwanted(worker)
        self._place(worker)
        return ended

    def current(self, worker: str) -> Assignment | None:
        """The task that a worker is at."""
        return next(iter(self.assignments.get(worker, ())), None)

    def abandon(self, worker: str, attempt: int, kill_at: float) -> None:
        """A task is not wanted any more: its worker is told, and ended if it has not left the task by then."""
        for one in self.assignments.get(worker, ()):
            if one.lease.attempt == attempt and one.kill_at is None:
                one.kill_at = kill_at
                self.workers.stop(worker, attempt)
        self._settle_unwanted(worker)

    def count(self, pool: str) -> int:
        """How many workers a pool has, those that start included."""
        return self._counts[pool]

    def busy_count(self, pool: str) -> int:
        """How many of them have a task."""
        return self._busy_counts[pool]

    def starved(self, seconds: float) -> list[str]:
        """Pools all of whose workers have been starting for so long."""
        since = time.monotonic() - seconds
        live = {self.pool_of[worker] for worker in self.assignments} | {
            pool for pool, some in self.idle.items() if some
        }
        late = {self.pool_of[worker] for worker, begun in self.starting.items() if begun <= since}
        return sorted(late - live)

    def waiting_on(self) -> dict[str, Any]:
        """Who keeps the run waiting: workers that have not started, and the blocks and operators that others are at."""
        return {
            "starting": list(self.starting),
            "working": {worker: some[0].lease.task.block for worker, some in self.assignments.items()},
            "operators": {worker: name for worker in self.assignments if (name := self.workers.busy_with(worker))},
        }

    def remove(self, worker: str) -> list[Assignment]:
        """Forget a worker that is gone; returns the tasks that it had, in order."""
        self.starting.pop(worker, None)
        self.unwanted.pop(worker, None)
        ended = self.assignments.pop(worker, [])
        pool = self.pool_of[worker]
        self._place(worker, is_gone=True)
        del self.pool_of[worker]
        self._counts[pool] -= 1
        return ended

    def kill(self, worker: str) -> list[Assignment]:
        """End a worker, and forget it; what it still has to say is not heard."""
        self.workers.kill(worker)
        return self.remove(worker)

    def _place(self, worker: str, *, is_gone: bool = False) -> None:
        """Put a worker among those with no task, with one, or with more."""
        pool, tasks = self.pool_of[worker], len(self.assignments.get(worker, ()))
        for number, by_pool in enumerate((self.idle, self.single, self.double)):
            place = by_pool.setdefault(pool, {})
            was_here, is_here = worker in place, tasks == number and not is_gone
            if is_here:
                place.setdefault(worker)
            elif was_here:
                del place[worker]
            if number:
                self._busy_counts[pool] += is_here - was_here

    def _settle_unwanted(self, worker: str) -> None:
        times = [one.kill_at for one in self.assignments.get(worker, ()) if one.kill_at is not None]
        if times:
            self.unwanted[worker] = min(times)
        else:
            self.unwanted.pop(worker, None)
