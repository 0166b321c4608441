"""The workers of a run, and what each of them does; they outlive the driver of a segment."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from jinx_pipeline.engines.worker_backend import Workers
from jinx_pipeline.schedule.task import Lease


@dataclass
class WorkerPool:
    """The workers that were started and have not ended, over all segments of a run.

    Attributes:
        workers: The engine's.
        pool_of: The pool of each worker.
        starting: Since when workers start that have not been ready yet.
        idle: Those that wait for work, by pool, in the order in which they began to wait.
        at_work: The leases of the others.
    """

    workers: Workers
    pool_of: dict[str, str] = field(default_factory=dict[str, str])
    starting: dict[str, float] = field(default_factory=dict[str, float])
    idle: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    at_work: dict[str, Lease] = field(default_factory=dict[str, Lease])
    _sizes: Counter[str] = field(default_factory=Counter[str])
    _busy: Counter[str] = field(default_factory=Counter[str])

    def start(self, pool: str) -> None:
        """Start a worker."""
        worker = self.workers.start(pool)
        self.pool_of[worker], self.starting[worker] = pool, time.monotonic()
        self._sizes[pool] += 1

    def waits(self, worker: str) -> Lease | None:
        """A worker is ready, or has ended its task; returns the lease that it had."""
        self.starting.pop(worker, None)
        self.idle.setdefault(self.pool_of[worker], {})[worker] = None
        return self._ended(worker)

    def works(self, worker: str, lease: Lease) -> None:
        """A worker that waited was given a task."""
        del self.idle[self.pool_of[worker]][worker]
        self.at_work[worker] = lease
        self._busy[self.pool_of[worker]] += 1

    def size(self, pool: str) -> int:
        """How many workers a pool has, those that start included."""
        return self._sizes[pool]

    def busy(self, pool: str) -> int:
        """How many of them have a task."""
        return self._busy[pool]

    def starved(self, seconds: float) -> list[str]:
        """Pools all of whose workers have been starting for so long."""
        since = time.monotonic() - seconds
        live = {self.pool_of[worker] for worker in self.at_work} | {pool for pool, ones in self.idle.items() if ones}
        late = {self.pool_of[worker] for worker, begun in self.starting.items() if begun <= since}
        return sorted(late - live)

    def waited_for(self) -> dict[str, Any]:
        """Who keeps the run waiting: workers that have not started, and the blocks and operators that others are at."""
        return {
            "starting": list(self.starting),
            "working": {worker: lease.task.block for worker, lease in self.at_work.items()},
            "operators": {worker: name for worker in self.at_work if (name := self.workers.busy_with(worker))},
        }

    def remove(self, worker: str) -> Lease | None:
        """Forget a worker that is gone; returns the lease that it had."""
        self.starting.pop(worker, None)
        lease = self._ended(worker)
        pool = self.pool_of.pop(worker)
        self._sizes[pool] -= 1
        self.idle.get(pool, {}).pop(worker, None)
        return lease

    def _ended(self, worker: str) -> Lease | None:
        lease = self.at_work.pop(worker, None)
        if lease is not None:
            self._busy[self.pool_of[worker]] -= 1
        return lease

    def kill(self, worker: str) -> None:
        """End a worker; what it still has to say is not heard."""
        self.workers.kill(worker)
        self.remove(worker)
