"""The workers of a run, and what each of them does; they outlive the driver of a segment."""

from dataclasses import dataclass, field
from typing import Any

from jinx_pipeline.engines.workers import Workers
from jinx_pipeline.schedule.task import Lease


@dataclass
class Crew:
    """The workers that were started and have not ended, over all segments of a run.

    Attributes:
        workers: The engine's.
        state: Of each worker: None while it starts, a lease while it works, False when it waits for work.
        pool_of: The pool of each worker.
    """

    workers: Workers
    state: dict[str, Lease | bool | None] = field(default_factory=dict[str, Lease | bool | None])
    pool_of: dict[str, str] = field(default_factory=dict[str, str])

    def start(self, pool: str) -> None:
        """Start a worker."""
        worker = self.workers.start(pool)
        self.pool_of[worker], self.state[worker] = pool, None

    def of(self, pool: str) -> list[str]:
        """The workers of a pool."""
        return [worker for worker, name in self.pool_of.items() if name == pool]

    def waiting(self) -> list[str]:
        """The workers that wait for work."""
        return [worker for worker, state in self.state.items() if state is False]

    def working(self) -> list[tuple[str, Lease]]:
        """The workers that have a task."""
        return [(worker, state) for worker, state in self.state.items() if isinstance(state, Lease)]

    def waited_for(self) -> dict[str, Any]:
        """Who keeps the run waiting: workers that have not started, and the blocks that others work on."""
        working = {worker: lease.task.block for worker, lease in self.working()}
        return {"starting": [worker for worker, state in self.state.items() if state is None], "working": working}

    def remove(self, worker: str) -> Lease | bool | None:
        """Forget a worker that is gone; returns what it did."""
        del self.pool_of[worker]
        return self.state.pop(worker)

    def kill(self, worker: str) -> None:
        """End a worker; what it still has to say is not heard."""
        self.workers.kill(worker)
        self.remove(worker)
