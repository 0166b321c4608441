"""What an engine is to the driver: workers that can be started, given a task, listened to and killed."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.plan.source import Source
from jinx_pipeline.schedule.task import Cause, Task
from jinx_pipeline.worker.work import Work


@dataclass(frozen=True, slots=True)
class Request:
    """A task as it travels to a worker: a few hundred bytes.

    Attributes:
        work: The key under which the worker was given the work.
        source: Where the rows are.
        task: Which rows.
        attempt: The lease.
        path: Where to put the part.
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
        worker: Which.
        node: Where it runs, if there are several nodes.
    """

    worker: str
    node: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Finished:
    """A worker has done a task."""

    worker: str
    attempt: int
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Failed:
    """A worker lives, but could not do a task.

    Attributes:
        worker: Which.
        attempt: The lease.
        cause: FAILED, MEMORY or THROTTLED.
        what: What happened.
        seconds: How long to wait.
        operator: What it was busy with.
    """

    worker: str
    attempt: int
    cause: Cause
    what: str = ""
    seconds: float = 0.0
    operator: str = ""


@dataclass(frozen=True, slots=True)
class FatalEvent:
    """Something that no other task would survive either: a package is missing, the disk is full.

    Attributes:
        worker: Whom it happened to.
        what: What happened.
        trace: The traceback.
        host: The machine, if there are several.
        operator: The operator that failed on all rows of the task, where other rows may fare better; else empty.
        needs_repair: Whether a run that is resumed would end in the same way.
    """

    worker: str
    what: str
    trace: str
    host: str = ""
    operator: str = ""
    needs_repair: bool = False


@dataclass(frozen=True, slots=True)
class Died:
    """A worker is gone.

    Attributes:
        worker: Which.
        cause: NODE, NODE_MEMORY, MEMORY, TIMEOUT or DIED.
        what: What is known, such as the signal.
        operator: What it was busy with, if that is known.
    """

    worker: str
    cause: Cause
    what: str
    operator: str = ""


Event = Ready | Finished | Failed | FatalEvent | Died


def event_of(worker: str, answer: tuple[Any, ...]) -> Event:
    """The event that an answer of a `TaskRunner` is."""
    kind = answer[0]
    if kind == "ready":
        return Ready(worker, answer[2] if len(answer) > 2 else "")  # noqa: PLR2004 - kind, process, node
    if kind == "receipt":
        return Finished(worker, answer[1], answer[2])
    if kind == "throttled":
        return Failed(worker, answer[1], Cause.THROTTLED, answer[3], seconds=answer[2])
    if kind == "memory":
        return Failed(worker, answer[1], Cause.MEMORY, "MemoryError", operator=answer[2])
    if kind == "fatal":
        return FatalEvent(worker, answer[2], answer[3], operator=answer[4], needs_repair=answer[5])
    return Failed(worker, answer[1], Cause.FAILED, answer[2], operator=answer[3])


class WorkerBackend(Protocol):
    """The workers of an engine.

    Attributes:
        may_lack_room: Whether a worker may wait to start for what workers of another pool hold.
    """

    may_lack_room: bool

    def start(self, pool: str) -> str:
        """Begin to start a worker; `Ready` follows. Returns its name."""
        ...

    def load_work(self, key: str, work: Work) -> None:
        """Make a work known; each worker is given it before its first task of it."""
        ...

    def submit(self, worker: str, request: Request) -> None:
        """Give a worker a task."""
        ...

    def events(self, timeout: float) -> list[Event]:
        """What has happened; waits up to `timeout` seconds for something."""
        ...

    def busy_with(self, worker: str) -> str:
        """The operator that a worker is busy with; nothing if that is not known."""
        ...

    def kill(self, worker: str) -> None:
        """End a worker whose task is not wanted any more; no event follows."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...
