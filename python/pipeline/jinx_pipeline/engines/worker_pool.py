"""The workers of a run, and what each of them does; whatever node it is for."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from jinx_pipeline.engines.worker_backend import WorkerBackend
from jinx_pipeline.schedule.task import Lease


@dataclass
class WorkerPool:
    """The workers that were started and have not ended, over all nodes of a run.

    Attributes:
        workers: The engine's.
        pool_of: The pool of each worker.
        starting: Since when workers start that have not been ready yet.
        idle: Those that wait for work, by pool, in the order in which they began to wait.
        leases: The leases of the others.
    """

    workers: WorkerBackend
    pool_of: dict[str, str] = field(default_factory=dict[str, str])
    starting: dict[str, float] = field(default_factory=dict[str, float])
    idle: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    leases: dict[str, Lease] = field(default_factory=dict[str, Lease])
    _counts: Counter[str] = field(default_factory=Counter[str])
    _busy_counts: Counter[str] = field(default_factory=Counter[str])

    def start(self, pool: str) -> None:
        """Start a worker."""
        worker = self.workers.start(pool)
        self.pool_of[worker], self.starting[worker] = pool, time.monotonic()
        self._counts[pool] += 1

    def mark_idle(self, worker: str) -> Lease | None:
        """A worker is ready, or has ended its task; returns the lease that it had."""
        self.starting.pop(worker, None)
        self.idle.setdefault(self.pool_of[worker], {})[worker] = None
        return self._ended(worker)

    def assign(self, worker: str, lease: Lease) -> None:
        """A worker that waited was given a task."""
        del self.idle[self.pool_of[worker]][worker]
        self.leases[worker] = lease
        self._busy_counts[self.pool_of[worker]] += 1

    def count(self, pool: str) -> int:
        """How many workers a pool has, those that start included."""
        return self._counts[pool]

    def busy_count(self, pool: str) -> int:
        """How many of them have a task."""
        return self._busy_counts[pool]

    def starved(self, seconds: float) -> list[str]:
        """Pools all of whose workers have been starting for so long."""
        since = time.monotonic() - seconds
        live = {self.pool_of[worker] for worker in self.leases} | {pool for pool, ones in self.idle.items() if ones}
        late = {self.pool_of[worker] for worker, begun in self.starting.items() if begun <= since}
        return sorted(late - live)

    def waiting_on(self) -> dict[str, Any]:
        """Who keeps the run waiting: workers that have not started, and the blocks and operators that others are at."""
        return {
            "starting": list(self.starting),
            "working": {worker: lease.task.block for worker, lease in self.leases.items()},
            "operators": {worker: name for worker in self.leases if (name := self.workers.busy_with(worker))},
        }

    def remove(self, worker: str) -> Lease | None:
        """Forget a worker that is gone; returns the lease that it had."""
        self.starting.pop(worker, None)
        lease = self._ended(worker)
        pool = self.pool_of.pop(worker)
        self._counts[pool] -= 1
        self.idle.get(pool, {}).pop(worker, None)
        return lease

    def _ended(self, worker: str) -> Lease | None:
        lease = self.leases.pop(worker, None)
        if lease is not None:
            self._busy_counts[self.pool_of[worker]] -= 1
        return lease

    def kill(self, worker: str) -> None:
        """End a worker; what it still has to say is not heard."""
        self.workers.kill(worker)
        self.remove(worker)
