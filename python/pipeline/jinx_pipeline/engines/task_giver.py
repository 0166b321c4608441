"""Gives tasks to workers, queues up to one more for each, and takes tasks back."""

import time
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path

from jinx_pipeline.engines.worker_backend import Request
from jinx_pipeline.engines.worker_pool import Assignment, WorkerPool
from jinx_pipeline.runlog.work_dir import crash_note_path, remove_part, signatures_path, stop_path
from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Lease
from jinx_pipeline.store.mirror import remove_local, url_of

# A worker that has not left a cancelled task after this long is killed. The delay is long, because workers check only
# between batches, and a new worker would have to load its models again.
_GRACE_SECONDS = 10.0
# A queued task is moved from a busy worker to an idle one when the task before it has taken this long.
_RECALL_SECONDS = 0.2


class TaskGiver:
    """The tasks that workers have.

    A worker has up to two tasks: the current one, and the next one, so that it does not wait for the driver in between.
    If the worker dies, only the current task is to blame.

    Args:
        scheduler: Decides which tasks run.
        workers: The workers.
        request: Makes the request that a worker receives for a lease.
        discard: Removes the files of an attempt.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        workers: WorkerPool,
        request: Callable[[Lease], Request],
        discard: Callable[[Assignment], None],
    ) -> None:
        self._scheduler = scheduler
        self._workers = workers
        self._request = request
        self._discard = discard

    def hand_out(self) -> None:
        """Give tasks to idle workers, and then queue one more for busy ones."""
        now = time.monotonic()
        for pool, idle in self._workers.idle.items():
            while idle:
                worker = next(iter(idle))
                lease = self._scheduler.lease(worker, pool, now)
                if lease is not None:
                    self._assign(worker, lease, now)
                elif not self._recall(pool, now):
                    break  # the other workers of this pool get no task either
            if not idle:
                self._hand_out_ahead(pool, now)

    def _hand_out_ahead(self, pool: str, now: float) -> None:
        """Queue tasks only while every worker of the pool can have one, so that the last tasks go to idle workers."""
        surplus = self._scheduler.waiting(pool) - self._workers.count(pool)
        for worker in list(self._workers.single.get(pool, {})):
            if surplus <= 0:
                return
            current = self._workers.current(worker)
            # When a row is tried for the last time, no other task may be the cause of a failure.
            if current is None or current.lease.is_last_try or not self._workers.workers.takes_ahead(worker):
                continue
            lease = self._scheduler.lease(worker, pool, now, is_ahead=True)
            if lease is None:
                return
            self._assign(worker, lease, None)
            surplus -= 1

    def _assign(self, worker: str, lease: Lease, begun: float | None) -> None:
        request = self._request(lease)
        self._workers.assign(worker, Assignment(lease, request.path, begun))
        self._workers.workers.submit(worker, request)

    def _recall(self, pool: str, now: float) -> bool:
        """Take back a task that is queued behind a long one, for an idle worker; returns whether there was one."""
        for worker in self._workers.double.get(pool, {}):
            current, waiting = self._workers.assignments[worker][:2]
            if waiting.kill_at is None and current.begun is not None and now - current.begun >= _RECALL_SECONDS:
                self._workers.abandon(worker, waiting.lease.attempt, inf)
                self._scheduler.give_back(waiting.lease.attempt)
                return True
        return False

    def end(self, worker: str, attempt: int) -> Assignment | None:
        """Record that a worker has left a task, and begin its next task. Returns the task if the worker had it."""
        ended = self._workers.end(worker, attempt)
        current = self._workers.current(worker)
        if ended is not None and current is not None and current.begun is not None:
            self._scheduler.begin(current.lease.attempt, current.begun)
        return ended

    def abandon(self, losers: Sequence[Lease]) -> None:
        """Cancel tasks that are done elsewhere or were divided; workers leave them at the next batch or are killed."""
        for lease in losers:
            self._workers.abandon(lease.worker, lease.attempt, time.monotonic() + _GRACE_SECONDS)

    def end_unwanted(self) -> None:
        """Kill workers that have not left a cancelled task in time."""
        now = time.monotonic()
        for worker in [worker for worker, kill_at in self._workers.unwanted.items() if kill_at <= now]:
            self.give_back(self._workers.kill(worker))

    def give_back(self, assignments: Sequence[Assignment]) -> None:
        """Give tasks back to the scheduler without counting a failure; those not cancelled go to other workers."""
        for assignment in assignments:
            self._discard(assignment)
            if assignment.kill_at is None:
                self._scheduler.give_back(assignment.lease.attempt)

    def cancel(self) -> None:
        """Kill all workers that have tasks."""
        for worker in list(self._workers.assignments):
            self.give_back(self._workers.kill(worker))


def discard(path: str) -> None:
    """Remove the files of an attempt; in an object store, `Ledger.sweep` removes them together."""
    if url_of(path) is not None:
        remove_local(Path(path))
        return
    remove_part(Path(path))
    for file in (signatures_path(Path(path)), crash_note_path(Path(path)), stop_path(Path(path))):
        file.unlink(missing_ok=True)
