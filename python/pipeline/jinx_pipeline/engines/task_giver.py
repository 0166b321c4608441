"""Gives tasks to workers, also one ahead, and takes them back."""

import time
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path

from jinx_pipeline.engines.worker_backend import Request
from jinx_pipeline.engines.worker_pool import Assignment, WorkerPool
from jinx_pipeline.runlog.work_dir import crash_note_path, remove_part, signatures_path, stop_path
from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Lease

# A worker that is to leave a task is ended after this long. It asks between batches, and another one would have to load
# its models again.
_GRACE_SECONDS = 10.0
# A task that waits in a worker behind another is given to an idle one when that other has taken this long.
_RECALL_SECONDS = 0.2


class TaskGiver:
    """The tasks that workers have.

    A worker has up to two: the one that it is at, and the next one, so that it does not wait for the driver in between.
    Only the first is to blame when it dies.

    Args:
        scheduler: What is to be done.
        workers: Who does it.
        request: What a worker is sent for a lease.
        discard: Removes what an attempt has written.
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
        """Give tasks to workers that are idle, and then the next ones to those that are not."""
        now = time.monotonic()
        for pool, idle in self._workers.idle.items():
            while idle:
                worker = next(iter(idle))
                lease = self._scheduler.lease(worker, pool, now)
                if lease is not None:
                    self._assign(worker, lease, now)
                elif not self._recall(pool, now):
                    break  # nor is there one for the others of this pool
            if not idle:
                self._hand_out_ahead(pool, now)

    def _hand_out_ahead(self, pool: str, now: float) -> None:
        """Only while there is one for each worker of the pool: the last tasks go to whoever is idle first."""
        many = self._scheduler.waiting(pool) - self._workers.count(pool)
        for worker in list(self._workers.single.get(pool, {})):
            if many <= 0:
                return
            current = self._workers.current(worker)
            # Whoever does the last try of a row is to be blamed for no other task.
            if current is None or current.lease.is_last_try or not self._workers.workers.takes_ahead(worker):
                continue
            lease = self._scheduler.lease(worker, pool, now, is_ahead=True)
            if lease is None:
                return
            self._assign(worker, lease, None)
            many -= 1

    def _assign(self, worker: str, lease: Lease, begun: float | None) -> None:
        request = self._request(lease)
        self._workers.assign(worker, Assignment(lease, request.path, begun))
        self._workers.workers.submit(worker, request)

    def _recall(self, pool: str, now: float) -> bool:
        """Take a task that waits behind a long one, for a worker that is idle; returns whether there was any."""
        for worker in self._workers.double.get(pool, {}):
            current, waiting = self._workers.assignments[worker][:2]
            if waiting.kill_at is None and current.begun is not None and now - current.begun >= _RECALL_SECONDS:
                self._workers.abandon(worker, waiting.lease.attempt, inf)
                self._scheduler.give_back(waiting.lease.attempt)
                return True
        return False

    def end(self, worker: str, attempt: int) -> Assignment | None:
        """A worker has left a task, which is returned if it had it; its next one begins."""
        ended = self._workers.end(worker, attempt)
        current = self._workers.current(worker)
        if ended is not None and current is not None and current.begun is not None:
            self._scheduler.begin(current.lease.attempt, current.begun)
        return ended

    def abandon(self, losers: Sequence[Lease]) -> None:
        """Workers whose task is done, or was divided, are to leave it: at their next batch, or else they are killed."""
        for lease in losers:
            self._workers.abandon(lease.worker, lease.attempt, time.monotonic() + _GRACE_SECONDS)

    def end_unwanted(self) -> None:
        """End workers that have not left a task in time that is not wanted any more."""
        now = time.monotonic()
        for worker in [worker for worker, kill_at in self._workers.unwanted.items() if kill_at <= now]:
            self.give_back(self._workers.kill(worker))

    def give_back(self, assignments: Sequence[Assignment]) -> None:
        """These tasks are left without blame: what is still wanted of them is for other workers."""
        for assignment in assignments:
            self._discard(assignment)
            if assignment.kill_at is None:
                self._scheduler.give_back(assignment.lease.attempt)

    def cancel(self) -> None:
        """End all workers that have tasks."""
        for worker in list(self._workers.assignments):
            self.give_back(self._workers.kill(worker))


def discard(path: str) -> None:
    """Remove what an attempt has written."""
    remove_part(Path(path))
    for written in (signatures_path(Path(path)), crash_note_path(Path(path)), stop_path(Path(path))):
        written.unlink(missing_ok=True)
