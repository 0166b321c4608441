"""The workers of a run, and the tasks of all nodes that they run."""

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
        begun: When the worker began it, as far as the driver knows; None if it waits behind another task.
        kill_at: When to kill its worker, if the task is cancelled; None if it is not cancelled.
    """

    lease: Lease
    path: str
    begun: float | None
    kill_at: float | None = None


@dataclass
class WorkerPool:
    """The workers that were started and have not ended, over all nodes of a run.

    Attributes:
        workers: The workers of the engine.
        pool_of: The pool of each worker.
        starting: Workers that have not been ready yet, with the time when they were started.
        idle: Workers without a task, by pool, in the order in which they became idle.
        single: Workers with one task, by pool; each may be sent a second one.
        double: Workers with two tasks, by pool.
        assignments: The tasks of each worker, in the order in which it runs them.
        unwanted: Workers with cancelled tasks, with the time when to kill them.
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
        """Mark a worker as ready."""
        self.starting.pop(worker, None)
        self._regroup(worker)

    def assign(self, worker: str, assignment: Assignment) -> None:
        """Record that a worker was sent a task."""
        self.assignments.setdefault(worker, []).append(assignment)
        self._regroup(worker)

    def end(self, worker: str, attempt: int) -> Assignment | None:
        """Record that a worker has left a task, and begin its next one; returns the task, if the worker had it."""
        assignments = self.assignments.get(worker, [])
        ended = next((assignment for assignment in assignments if assignment.lease.attempt == attempt), None)
        if ended is None:
            return None
        assignments.remove(ended)
        if not assignments:
            del self.assignments[worker]
        elif assignments[0].begun is None:
            assignments[0].begun = time.monotonic()
        self._update_unwanted(worker)
        self._regroup(worker)
        return ended

    def current(self, worker: str) -> Assignment | None:
        """The current task of a worker."""
        return next(iter(self.assignments.get(worker, ())), None)

    def abandon(self, worker: str, attempt: int, kill_at: float) -> None:
        """Cancel a task; its worker is killed at a given time unless it has left the task."""
        for assignment in self.assignments.get(worker, ()):
            if assignment.lease.attempt == attempt and assignment.kill_at is None:
                assignment.kill_at = kill_at
                self.workers.stop(worker, attempt)
        self._update_unwanted(worker)

    def count(self, pool: str) -> int:
        """The number of workers of a pool, including those that are starting."""
        return self._counts[pool]

    def busy_count(self, pool: str) -> int:
        """The number of workers of a pool that have a task."""
        return self._busy_counts[pool]

    def starved(self, seconds: float) -> list[str]:
        """Pools whose workers are all still starting, at least one of them for longer than this."""
        since = time.monotonic() - seconds
        live = {self.pool_of[worker] for worker in self.assignments} | {
            pool for pool, workers in self.idle.items() if workers
        }
        late = {self.pool_of[worker] for worker, begun in self.starting.items() if begun <= since}
        return sorted(late - live)

    def waiting_on(self) -> dict[str, Any]:
        """What the run waits for: workers that are starting, and the blocks and operators of busy workers."""
        return {
            "starting": list(self.starting),
            "working": {worker: tasks[0].lease.task.block for worker, tasks in self.assignments.items()},
            "operators": {worker: name for worker in self.assignments if (name := self.workers.busy_with(worker))},
        }

    def remove(self, worker: str) -> list[Assignment]:
        """Remove a worker that is gone; returns its tasks, in order."""
        self.starting.pop(worker, None)
        self.unwanted.pop(worker, None)
        ended = self.assignments.pop(worker, [])
        pool = self.pool_of[worker]
        self._regroup(worker, is_gone=True)
        del self.pool_of[worker]
        self._counts[pool] -= 1
        return ended

    def kill(self, worker: str) -> list[Assignment]:
        """Kill and remove a worker; returns its tasks. Its later events are ignored."""
        self.workers.kill(worker)
        return self.remove(worker)

    def _regroup(self, worker: str, *, is_gone: bool = False) -> None:
        """Put a worker into the group for its number of tasks."""
        pool, tasks = self.pool_of[worker], len(self.assignments.get(worker, ()))
        for number, by_pool in enumerate((self.idle, self.single, self.double)):
            group = by_pool.setdefault(pool, {})
            was_member, is_member = worker in group, tasks == number and not is_gone
            if is_member:
                group.setdefault(worker)
            elif was_member:
                del group[worker]
            if number:
                self._busy_counts[pool] += is_member - was_member

    def _update_unwanted(self, worker: str) -> None:
        times = [task.kill_at for task in self.assignments.get(worker, ()) if task.kill_at is not None]
        if times:
            self.unwanted[worker] = min(times)
        else:
            self.unwanted.pop(worker, None)
