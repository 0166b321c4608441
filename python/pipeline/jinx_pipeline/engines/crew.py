"""The workers of a run, and what each of them does; they outlive the driver of a segment."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from jinx_pipeline.engines.workers import Workers
from jinx_pipeline.schedule.task import Lease


@dataclass
class Crew:
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

    def start(self, pool: str) -> None:
        """Start a worker."""
        worker = self.workers.start(pool)
        self.pool_of[worker], self.starting[worker] = pool, time.monotonic()

    def waits(self, worker: str) -> Lease | None:
        """A worker is ready, or has ended its task; returns the lease that it had."""
        self.starting.pop(worker, None)
        self.idle.setdefault(self.pool_of[worker], {})[worker] = None
        return self.at_work.pop(worker, None)

    def works(self, worker: str, lease: Lease) -> None:
        """A worker that waited was given a task."""
        del self.idle[self.pool_of[worker]][worker]
        self.at_work[worker] = lease

    def sizes(self) -> Counter[str]:
        """How many workers each pool has, those that start included."""
        return Counter(self.pool_of.values())

    def busy(self) -> Counter[str]:
        """How many of them have a task."""
        return Counter(self.pool_of[worker] for worker in self.at_work)

    def starved(self, seconds: float) -> list[str]:
        """Pools all of whose workers have been starting for so long."""
        since = time.monotonic() - seconds
        live = {self.pool_of[worker] for worker in self.at_work} | {pool for pool, ones in self.idle.items() if ones}
        late = {self.pool_of[worker] for worker, begun in self.starting.items() if begun <= since}
        return sorted(late - live)

    def waited_for(self) -> dict[str, Any]:
        """Who keeps the run waiting: workers that have not started, and the blocks that others work on."""
        return {
            "starting": list(self.starting),
            "working": {worker: lease.task.block for worker, lease in self.at_work.items()},
        }

    def remove(self, worker: str) -> Lease | None:
        """Forget a worker that is gone; returns the lease that it had."""
        self.starting.pop(worker, None)
        self.idle.get(self.pool_of.pop(worker), {}).pop(worker, None)
        return self.at_work.pop(worker, None)

    def kill(self, worker: str) -> None:
        """End a worker; what it still has to say is not heard."""
        self.workers.kill(worker)
        self.remove(worker)
