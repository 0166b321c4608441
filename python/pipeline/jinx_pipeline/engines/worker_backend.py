"""The interface between the driver and the workers of an engine: requests, events and `WorkerBackend`."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.plan.source import Source
from jinx_pipeline.schedule.task import Cause, Task
from jinx_pipeline.worker.work import Work


@dataclass(frozen=True, slots=True)
class Request:
    """A task as it is sent to a worker: a few hundred bytes.

    Attributes:
        work: The key of the work that the worker has loaded.
        source: The source of the rows.
        task: Which rows.
        attempt: The number of the lease.
        path: The path of the part to write.
        is_last_try: See `Lease`.
    """

    work: str
    source: Source
    task: Task
    attempt: int
    path: str
    is_last_try: bool = False


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker can take tasks.

    Attributes:
        worker: The worker.
        node: The node that it runs on, if there are several.
    """

    worker: str
    node: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Finished:
    """A worker has finished a task."""

    worker: str
    attempt: int
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Failed:
    """A worker is alive, but could not finish a task.

    Attributes:
        worker: The worker.
        attempt: The number of the lease.
        cause: FAILED, MEMORY or THROTTLED.
        what: A description of the failure.
        seconds: How long to wait.
        operator: The operator that it ran.
    """

    worker: str
    attempt: int
    cause: Cause
    what: str = ""
    seconds: float = 0.0
    operator: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A worker has left a task that was cancelled."""

    worker: str
    attempt: int


@dataclass(frozen=True, slots=True)
class FatalEvent:
    """An error that any other task would also have, such as a missing package or a full disk.

    Attributes:
        worker: The worker.
        what: A description of the error.
        trace: The traceback.
        host: The machine, if there are several.
        operator: The operator that failed on all rows of the task, if it may succeed on other rows; otherwise empty.
        needs_repair: Whether a resumed run would stop for the same reason.
    """

    worker: str
    what: str
    trace: str
    host: str = ""
    operator: str = ""
    needs_repair: bool = False


@dataclass(frozen=True, slots=True)
class Died:
    """A worker has died.

    Attributes:
        worker: The worker.
        cause: NODE, NODE_MEMORY, MEMORY, TIMEOUT or DIED.
        what: Details, such as the signal.
        operator: The operator that it ran, if known.
    """

    worker: str
    cause: Cause
    what: str
    operator: str = ""


Event = Ready | Finished | Failed | Stopped | FatalEvent | Died


def event_of(worker: str, answer: tuple[Any, ...]) -> Event:
    """The event for an answer of a `TaskRunner`."""
    kind = answer[0]
    if kind == "ready":
        return Ready(worker, answer[2] if len(answer) > 2 else "")  # noqa: PLR2004 - the answer is kind, process, node
    if kind == "receipt":
        return Finished(worker, answer[1], answer[2])
    if kind == "stopped":
        return Stopped(worker, answer[1])
    if kind == "fatal":
        return FatalEvent(worker, answer[2], answer[3], operator=answer[4], needs_repair=answer[5])
    return _failed(worker, *answer)


def _failed(worker: str, kind: str, attempt: int, *details: Any) -> Failed:
    if kind == "throttled":
        return Failed(worker, attempt, Cause.THROTTLED, details[1], seconds=details[0])
    if kind == "memory":
        return Failed(worker, attempt, Cause.MEMORY, "MemoryError", operator=details[0])
    return Failed(worker, attempt, Cause.FAILED, details[0], operator=details[1])


class WorkerBackend(Protocol):
    """The workers of an engine.

    Attributes:
        may_lack_room: Whether a worker may have to wait for resources that workers of another pool hold.
    """

    may_lack_room: bool

    def start(self, pool: str) -> str:
        """Begin to start a worker, and return its name; `Ready` follows."""
        ...

    def load_work(self, key: str, work: Work) -> None:
        """Register a work; each worker receives it before its first task."""
        ...

    def submit(self, worker: str, request: Request) -> None:
        """Send a task to a worker, which begins it after its current one."""
        ...

    def takes_ahead(self, worker: str) -> bool:
        """Whether a busy worker may be sent its next task."""
        ...

    def stop(self, worker: str, attempt: int) -> None:
        """Ask a worker to leave a task, or not to begin it; `Stopped` follows, or the normal answer."""
        ...

    def events(self, timeout: float) -> list[Event]:
        """The new events; waits up to `timeout` seconds for one."""
        ...

    def busy_with(self, worker: str) -> str:
        """The operator that a worker runs; empty if unknown."""
        ...

    def kill(self, worker: str) -> None:
        """Kill a worker; no event follows."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...
