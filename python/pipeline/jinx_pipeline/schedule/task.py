"""What the scheduler hands out and hears back."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Task:
    """Rows of one block that one worker takes through one node.

    Attributes:
        node: The id of the node.
        block: Number of the block in the input's order.
        first: The first row, counted in what the node reads of this block.
        rows: How many rows.
        batch_share: By which power of two batches are divided, after a death by memory.
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
        task: What is to be done.
        attempt: A number that no other lease of the run has; output files carry it, so that a late receipt cannot be
            mistaken for another.
        worker: Who has it.
        is_last_try: Whether a death would put its one row in quarantine.
    """

    task: Task
    attempt: int
    worker: str
    is_last_try: bool = False


class Cause(Enum):
    """Why a lease brought no receipt; each has a budget of its own."""

    NODE = "the node was lost"  # nobody's fault: unbounded, with growing delays
    DIED = "the worker died"
    FAILED = "the task failed"
    MEMORY = "the worker exceeded its memory limit"
    TIMEOUT = "the worker exceeded its time limit"
    NODE_MEMORY = "the node was short of memory"  # perhaps through others: bounded, with growing delays
    THROTTLED = "a service asked to wait"


class RefusedError(Exception):
    """A service has asked to wait so often that it is not asked again."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A row that no worker survives.

    Attributes:
        task: It has one row.
        cause: What happened the last time.
    """

    task: Task
    cause: Cause


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a receipt, or of a lease that brought none.

    Attributes:
        accepted: Otherwise the lease was no longer wanted: another attempt was first, or its task was divided. What it
            wrote is to be removed.
        losers: The other leases of the task, if they are not wanted from now on; their workers may stop.
        quarantined: The row that is given up.
    """

    accepted: bool
    losers: tuple[Lease, ...] = ()
    quarantined: Quarantined | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The scheduler's numbers.

    Attributes:
        strikes: Failures of a task before it is divided, or before its only row is put in quarantine.
        pieces: Into how many tasks it is divided.
        queue: How many tasks may be ready at a node until those that it reads from pause; those that their workers
            have in hand then come on top. Blocks that another input still lacks, or that a barrier holds, do not count:
            whom they wait for may be one of those that would pause.
        copies: Leases that a straggler may have at a time.
        straggler_factor: A lease is late after this many times the mean time of its rows ...
        straggler_seconds: ... and after this many seconds.
        memory_kills: How often a task may end because its node was short of memory until that counts as a failure.
        throttles: How often the services of a task may ask to wait, while no task of its node is finished, until the
            run stops.
        backoff_seconds: The first delay after a lost node, or one short of memory; it doubles.
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
