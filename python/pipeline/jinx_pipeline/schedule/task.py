"""The tasks that the scheduler hands out, and their outcomes."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Task:
    """Rows of one block for one worker at one node.

    Attributes:
        node: The id of the node.
        block: The number of the block, in the order of the input.
        first: The first row, counted in the rows of this block that the node reads.
        rows: The number of rows.
        batch_share: The divisor of the batch size, which grows after a worker exceeded its memory.
    """

    node: str
    block: int
    first: int
    rows: int
    batch_share: int = 1


@dataclass(frozen=True, slots=True)
class Lease:
    """A task that a worker has taken.

    Attributes:
        task: The task.
        attempt: A number that is unique in the run; it is part of the names of output files, so that a late receipt
            cannot be mistaken for another.
        worker: The worker.
        is_last_try: Whether a death would put its one row in quarantine.
    """

    task: Task
    attempt: int
    worker: str
    is_last_try: bool = False


class Cause(Enum):
    """Why a lease ended without a receipt; each cause has its own limit."""

    NODE = "the node was lost"  # not the task's fault: retry without limit, with growing delays
    DIED = "the worker died"
    FAILED = "the task failed"
    MEMORY = "the worker exceeded its memory limit"
    TIMEOUT = "the worker exceeded its time limit"
    NODE_MEMORY = "the node was short of memory"  # other tasks may be the cause: limited retries, growing delays
    THROTTLED = "a service asked to wait"


class RefusedError(Exception):
    """Raised to stop the run when a service has asked to wait too often."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A row that is given up after repeated failures.

    Attributes:
        task: The task with this single row.
        cause: The cause of the last failure.
    """

    task: Task
    cause: Cause


@dataclass(frozen=True, slots=True)
class Verdict:
    """The scheduler's answer to a receipt or a lost lease.

    Attributes:
        accepted: Whether the receipt or the failure counts. If not, another attempt was first, or the task was divided;
            the files of the attempt must be removed.
        losers: The other leases of the task, if they are obsolete; their workers may stop.
        quarantined: The row that is given up.
    """

    accepted: bool
    losers: tuple[Lease, ...] = ()
    quarantined: Quarantined | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the scheduler.

    Attributes:
        strikes: Failures of a task before it is divided, or before its only row is put in quarantine.
        pieces: The number of tasks into which a failing task is divided.
        queue: How many tasks may be ready at a node before the nodes that it reads pause; running tasks of these nodes
            are added afterwards. Blocks that wait for another input or for a barrier do not count, because they may
            wait for a node that would pause.
        copies: Leases that a straggler may have at a time.
        straggler_factor: A lease is late after this many times the mean time of its rows ...
        straggler_seconds: ... and after this many seconds.
        memory_kills: How often a task may end because its node was short of memory before that counts as a failure.
        throttles: How often the services of a task may ask to wait, without a finished task of its node, before the
            run stops.
        backoff_seconds: The first delay after a node was lost or short of memory; it doubles each time.
        max_backoff_seconds: The longest delay.
    """

    strikes: int = 2
    pieces: int = 4
    queue: int = 16
    copies: int = 2
    straggler_factor: float = 4.0
    straggler_seconds: float = 5.0
    memory_kills: int = 6
    throttles: int = 30
    backoff_seconds: float = 0.5
    max_backoff_seconds: float = 60.0
