"""The tasks of one node: ready, running and late ones, and whether another task may begin."""

import heapq
from collections import OrderedDict
from dataclasses import dataclass, field
from math import inf

from jinx_pipeline.schedule.graph import Node
from jinx_pipeline.schedule.task import Lease, Limits, Task


@dataclass(slots=True, eq=False)
class OpenBlock:
    """A block at a node: the number of missing tasks, and the output rows so far, by port."""

    missing: int
    rows: dict[str, int]


@dataclass(slots=True, eq=False)
class RunningLease:
    """A lease, its task, and when its worker began it; `inf` while it is queued behind another task."""

    lease: Lease
    state: "TaskState"
    started: float


@dataclass(slots=True, eq=False)
class TaskState:
    """A task and its history.

    Attributes:
        task: The task.
        block: Its block.
        strikes: Failures that count against it.
        nodes_lost: How often the machine of its worker was lost.
        memory_kills: How often that machine was short of memory.
        throttles: How often a service asked to wait ...
        receipts_at_throttle: ... since its node had this many receipts.
        leases: Its leases, by attempt.
    """

    task: Task
    block: OpenBlock
    strikes: int = 0
    nodes_lost: int = 0
    memory_kills: int = 0
    throttles: int = 0
    receipts_at_throttle: int = 0
    leases: dict[int, RunningLease] = field(default_factory=dict[int, RunningLease])


@dataclass(slots=True, eq=False)
class NodeQueue:
    """The queue of a node.

    Attributes:
        node: The node.
        level: The length of the longest path to an end of the graph.
        strikes: Failures of a task before it is divided, or before its only row is put in quarantine.
        consumers: The queues of the nodes that read this one.
        ready: Tasks to hand out, by block and first row: a heap, with the lowest first. A whole block that nothing has
            happened to is only the number of its rows, which takes little memory where there are many.
        running: Tasks with a lease.
        delayed: How many tasks wait for a time.
        seconds: Time that finished tasks took ...
        rows: ... for this many rows.
        receipts: The number of finished tasks.
        paused_until: Until when a service asked to wait; 0 if none did.
        allowed: How many tasks may run at a time after a pause; it grows with each receipt. None: any number.
    """

    node: Node
    level: int
    strikes: int
    consumers: list["NodeQueue"] = field(default_factory=list["NodeQueue"])
    ready: list[tuple[int, int, TaskState | int]] = field(default_factory=list[tuple[int, int, TaskState | int]])
    running: set[TaskState] = field(default_factory=set[TaskState])
    delayed: int = 0
    seconds: float = 0.0
    rows: int = 0
    receipts: int = 0
    paused_until: float = 0.0
    allowed: int | None = None
    # Tasks that may get a copy, oldest first, grouped by the binary logarithm of their number of rows. The oldest task
    # of a group becomes late first, give or take a factor of two, whatever the mean time per row is.
    _oldest: dict[int, OrderedDict[TaskState, float]] = field(
        default_factory=dict[int, OrderedDict[TaskState, float]], repr=False
    )

    def may_begin(self, queue: int) -> bool:
        """Whether a task is ready, its services accept one more, and all later queues have room for its output."""
        return bool(self.ready) and self.may_run and self.has_room(queue)

    @property
    def may_run(self) -> bool:
        """Whether the node's services accept one more task."""
        return not self.paused_until and (self.allowed is None or len(self.running) < self.allowed)

    def has_room(self, queue: int) -> bool:
        """Whether all later queues have room for the output."""
        return all(len(consumer.ready) < queue for consumer in self.consumers)

    def push(self, state: TaskState) -> None:
        """Add a ready task."""
        heapq.heappush(self.ready, (state.task.block, state.task.first, state))

    def push_block(self, block: int, rows: int) -> None:
        """Add the task for the whole of a new block."""
        heapq.heappush(self.ready, (block, 0, rows))

    def pop(self) -> TaskState:
        """Take the first ready task."""
        block, _, ready = heapq.heappop(self.ready)
        if isinstance(ready, TaskState):
            return ready
        return TaskState(Task(self.node.id, block, 0, ready), OpenBlock(1, {}))

    def start(self, running: RunningLease, copies: int) -> None:
        """Add a lease to a ready or running task."""
        state = running.state
        state.leases[running.lease.attempt] = running
        self.running.add(state)
        self._watch(state, copies)

    def begin(self, running: RunningLease, now: float, copies: int) -> None:
        """Record that the worker of a lease begins it."""
        running.started = now
        self._watch(running.state, copies)

    def end(self, running: RunningLease, copies: int) -> None:
        """End a lease; its task may have others."""
        state = running.state
        del state.leases[running.lease.attempt]
        self._watch(state, copies)

    def release(self, state: TaskState) -> tuple[Lease, ...]:
        """Remove a task from the running ones; returns its leases."""
        leases = tuple(running.lease for running in state.leases.values())
        state.leases.clear()
        self.running.discard(state)
        self._watch(state, 0)
        return leases

    def count(self, rows: int, seconds: float) -> None:
        """Count a finished task, with its rows and the time it took."""
        self.seconds += max(seconds, 0.0)
        self.rows += rows
        self.receipts += 1
        if self.allowed is not None:
            self.allowed += 1

    def pause(self, until: float) -> None:
        """Start no task before `until`, and then run at most half as many tasks at once as now."""
        if not self.paused_until:  # only once for all tasks that are running
            self.allowed = max(len(self.running) // 2, 1)
        self.paused_until = max(self.paused_until, until)

    def straggler(self, worker: str, now: float, limits: Limits) -> TaskState | None:
        """A late task of which this worker may run a copy, if there is one."""
        if not self.rows or not self.may_run:
            return None
        row_seconds = limits.straggler_factor * self.seconds / self.rows
        for states in self._oldest.values():
            for state, started in states.items():
                if now - started <= max(limits.straggler_seconds, row_seconds * state.task.rows):
                    break
                if all(running.lease.worker != worker for running in state.leases.values()):
                    return state
        return None

    def _watch(self, state: TaskState, copies: int) -> None:
        """Update whether a task may get a copy: a worker runs it, and it has fewer leases than `copies`."""
        size = state.task.rows.bit_length()
        states = self._oldest.get(size)
        started = min((running.started for running in state.leases.values()), default=inf)
        if started == inf or len(state.leases) >= copies:
            if states is not None:
                states.pop(state, None)
            return
        if states is None:
            states = self._oldest[size] = OrderedDict()
        # The task of a lost lease moves to the end.
        states[state] = started
