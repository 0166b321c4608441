"""The state machine: leases, strikes, division of failing blocks, copies of stragglers, bounded queues.

It is driven by calls with the time as an argument, so that a simulation can run it through every order of events.
"""

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

from jinx_pipeline.schedule.task import Cause, Lease, Limits, Quarantined, RefusedError, Task, Verdict


@dataclass(slots=True, eq=False)
class _Piece:
    """A task and what has happened to it."""

    task: Task
    strikes: int = 0
    nodes_lost: int = 0
    memory_kills: int = 0
    throttles: int = 0
    receipts_then: int = 0
    leases: dict[int, str] = field(default_factory=dict[int, str])


@dataclass(slots=True)
class _Running:
    piece: _Piece
    started: float


@dataclass(slots=True)
class _Open:
    """A block in a stage: what is still missing of it, and what came out so far."""

    pieces: int
    rows_out: int = 0


@dataclass(slots=True)
class _Stage:
    """The queue of a stage.

    Attributes:
        ready: Pieces to hand out, in order.
        running: Pieces that have a lease.
        on_the_way: Blocks that wait here or run in the stage before.
        seconds: Time that finished tasks took ...
        rows: ... for this many rows.
        receipts: How many they were.
        paused_until: A service asked all of us to wait until then; 0 if none did.
        allowed: After that, how many of its tasks may run at a time; it grows with each receipt. None: any number.
    """

    ready: deque[_Piece] = field(default_factory=deque["_Piece"])
    running: dict[_Piece, None] = field(default_factory=dict["_Piece", None])
    seconds: float = 0.0
    rows: int = 0
    receipts: int = 0
    paused_until: float = 0.0
    allowed: int | None = None

    @property
    def may_run(self) -> bool:
        """Whether the services behind it take one more task."""
        return not self.paused_until and (self.allowed is None or len(self.running) < self.allowed)


class Scheduler:
    """Which worker does what, for one segment: a chain of stages without a global operator between them.

    Args:
        blocks: Number and rows of every block.
        pools: For each stage, the kind of worker that runs it.
        limits: The numbers.
        done: Blocks of the first stages that an earlier run has committed: for (stage, block) the rows that came out.
        first_attempt: The first number of a lease; larger than any of an earlier run.
    """

    def __init__(
        self,
        blocks: Mapping[int, int] | Sequence[int],
        pools: Sequence[str] = ("cpu",),
        limits: Limits | None = None,
        *,
        done: Mapping[tuple[int, int], int] | None = None,
        first_attempt: int = 0,
    ) -> None:
        self._limits = limits or Limits()
        self._pools = list(pools)
        self._stages = [_Stage() for _ in pools]
        self._open: dict[tuple[int, int], _Open] = {}
        self._leases: dict[int, _Running] = {}
        self._withdrawn: list[tuple[int, str]] = []
        self._delayed: list[tuple[float, int, _Piece]] = []
        self._attempts = count(first_attempt)
        self._ties = count()
        self._unfinished = 0
        entries = blocks.items() if isinstance(blocks, Mapping) else enumerate(blocks)
        for block, rows in entries:
            self._unfinished += 1
            self._enter(0, block, rows, done or {})

    @property
    def finished(self) -> bool:
        """Whether every block has left the last stage."""
        return self._unfinished == 0

    def is_wanted(self, attempt: int) -> bool:
        """Whether a receipt of this attempt would be accepted."""
        return attempt in self._leases

    def take_withdrawn(self) -> list[tuple[int, str]]:
        """The leases, with their workers, that others have made useless since the last call."""
        found, self._withdrawn = self._withdrawn, []
        return found

    def waiting(self, pool: str) -> int:
        """Tasks that a worker of a pool could take now, or after a delay."""
        mine = [number for number, name in enumerate(self._pools) if name == pool]
        ready = sum(len(self._stages[number].ready) for number in mine if self._has_room_after(number))
        return ready + sum(self._pools[piece.task.stage] == pool for _, _, piece in self._delayed)

    def next_time(self) -> float | None:
        """When the next delay ends; None if there is none."""
        pauses = [stage.paused_until for stage in self._stages if stage.paused_until and stage.ready]
        return min([*pauses, *(when for when, _, _ in self._delayed[:1])], default=None)

    def lease(self, worker: str, pool: str, now: float) -> Lease | None:
        """The next task for a worker; None if there is nothing for it now."""
        self._wake(now)
        # The last stage first: what is nearly finished frees the queues.
        for number in range(len(self._stages) - 1, -1, -1):
            stage = self._stages[number]
            if self._pools[number] == pool and stage.ready and stage.may_run and self._has_room_after(number):
                return self._hand_out(stage.ready.popleft(), worker, now)
        return self._second_lease(worker, pool, now)

    def receipt(self, attempt: int, rows_out: int, now: float) -> Verdict:
        """A worker has finished: the first receipt of a task is accepted."""
        running = self._leases.get(attempt)
        if running is None:
            return Verdict.STALE
        piece = running.piece
        del self._leases[attempt], piece.leases[attempt]
        stage = self._stages[piece.task.stage]
        stage.seconds += max(now - running.started, 0.0)
        stage.rows += piece.task.rows
        stage.receipts += 1
        if stage.allowed is not None:
            stage.allowed += 1
        self._withdraw(piece)
        self._complete(piece, rows_out)
        return Verdict.ACCEPTED

    def lost(self, attempt: int, cause: Cause, now: float, *, delay: float = 0.0) -> list[Quarantined]:
        """A lease will bring no receipt; returns the row that is given up for it, if any.

        Args:
            attempt: The lease.
            cause: Why.
            now: The time.
            delay: Of THROTTLED: how long the service asked to wait.

        Raises:
            RefusedError: Its service has asked for that too often.
        """
        running = self._leases.pop(attempt, None)
        if running is None:
            return []
        piece = running.piece
        del piece.leases[attempt]
        limits = self._limits
        if cause is Cause.NODE:
            piece.nodes_lost += 1
            delay = self._backoff(piece.nodes_lost)
        elif cause is Cause.NODE_MEMORY and piece.memory_kills < limits.memory_kills:
            piece.memory_kills += 1
            piece.task = replace(piece.task, batch_share=2)
            delay = self._backoff(piece.memory_kills)
        elif cause is Cause.MEMORY and piece.task.batch_share == 1:
            piece.task = replace(piece.task, batch_share=2)
            delay = 0.0
        elif cause is Cause.THROTTLED:
            self._count_throttle(piece)
            delay = max(delay, limits.backoff_seconds)
            self._slow_down(piece.task.stage, now + delay)
        else:
            piece.strikes += 1
            if piece.strikes >= limits.strikes:
                return self._divide(piece, cause)
            delay = self._backoff(piece.memory_kills) if cause is Cause.NODE_MEMORY else 0.0
        if not piece.leases:
            self._put_back(piece, now + delay if delay > 0 else None)
        return []

    def _backoff(self, times: int) -> float:
        return min(self._limits.backoff_seconds * 2 ** min(times - 1, 20), self._limits.max_backoff_seconds)

    # Blocks and stages.

    def _enter(self, number: int, block: int, rows: int, done: Mapping[tuple[int, int], int]) -> None:
        """A block comes to a stage, or leaves the last one."""
        while number < len(self._stages) and rows > 0 and (number, block) in done:
            rows = done[number, block]
            number += 1
        if number == len(self._stages) or rows == 0:
            self._unfinished -= 1
            return
        self._open[number, block] = _Open(1)
        self._stages[number].ready.append(_Piece(Task(number, block, 0, rows)))

    def _complete(self, piece: _Piece, rows_out: int) -> None:
        key = piece.task.stage, piece.task.block
        block = self._open[key]
        block.pieces -= 1
        block.rows_out += rows_out
        if block.pieces == 0:
            del self._open[key]
            self._enter(piece.task.stage + 1, piece.task.block, block.rows_out, {})

    def _has_room_after(self, number: int) -> bool:
        """Whether what a stage makes finds a place in the queue of the next one."""
        if number + 1 == len(self._stages):
            return True
        return len(self._stages[number + 1].ready) < self._limits.queue

    # Leases.

    def _hand_out(self, piece: _Piece, worker: str, now: float) -> Lease:
        attempt = next(self._attempts)
        piece.leases[attempt] = worker
        self._leases[attempt] = _Running(piece, now)
        self._stages[piece.task.stage].running[piece] = None
        is_last_try = piece.task.rows == 1 and piece.strikes + len(piece.leases) >= self._limits.strikes
        return Lease(piece.task, attempt, worker, is_last_try)

    def _second_lease(self, worker: str, pool: str, now: float) -> Lease | None:
        """A copy of the task that has run for too long, if there is one."""
        limits = self._limits
        for number, stage in enumerate(self._stages):
            if self._pools[number] != pool or not stage.rows or not stage.may_run:
                continue
            mean = stage.seconds / stage.rows
            for piece in stage.running:
                late = max(limits.straggler_seconds, limits.straggler_factor * mean * piece.task.rows)
                oldest = min(self._leases[attempt].started for attempt in piece.leases)
                if len(piece.leases) < limits.copies and now - oldest > late and worker not in piece.leases.values():
                    return self._hand_out(piece, worker, now)
        return None

    def _count_throttle(self, piece: _Piece) -> None:
        stage = self._stages[piece.task.stage]
        if piece.receipts_then != stage.receipts:  # its service works
            piece.receipts_then, piece.throttles = stage.receipts, 0
        piece.throttles += 1
        if piece.throttles >= self._limits.throttles:
            raise RefusedError

    def _slow_down(self, number: int, until: float) -> None:
        """Nothing of a stage begins until then, and half as much at a time afterwards."""
        stage = self._stages[number]
        if not stage.paused_until:  # others that were under way are told the same
            stage.allowed = max(len(stage.running) // 2, 1)
        stage.paused_until = max(stage.paused_until, until)

    def _withdraw(self, piece: _Piece) -> None:
        """From now on no lease of this piece is wanted."""
        for attempt, worker in piece.leases.items():
            self._leases.pop(attempt, None)
            self._withdrawn.append((attempt, worker))
        piece.leases.clear()
        self._stages[piece.task.stage].running.pop(piece, None)

    def _put_back(self, piece: _Piece, until: float | None) -> None:
        stage = self._stages[piece.task.stage]
        stage.running.pop(piece, None)
        if until is None:
            stage.ready.appendleft(piece)
        else:
            heapq.heappush(self._delayed, (until, next(self._ties), piece))

    def _wake(self, now: float) -> None:
        for stage in self._stages:
            if stage.paused_until <= now:
                stage.paused_until = 0.0
        while self._delayed and self._delayed[0][0] <= now:
            piece = heapq.heappop(self._delayed)[2]
            self._stages[piece.task.stage].ready.appendleft(piece)

    def _divide(self, piece: _Piece, cause: Cause) -> list[Quarantined]:
        """Smaller tasks in place of one that fails; a single row is given up."""
        self._withdraw(piece)
        task = piece.task
        if task.rows == 1:
            self._complete(piece, 0)
            return [Quarantined(task, cause)]
        parts = min(self._limits.pieces, task.rows)
        edges = [task.first + task.rows * part // parts for part in range(parts + 1)]
        made: list[_Piece] = []
        for first, last in pairwise(edges):
            smaller = Task(task.stage, task.block, first, last - first, task.batch_share)
            # Its block has failed before, so one more failure is enough; a single row has its full number of chances.
            if last - first == 1:
                made.append(_Piece(smaller))
            else:
                made.append(_Piece(smaller, self._limits.strikes - 1, memory_kills=piece.memory_kills))
        self._open[task.stage, task.block].pieces += parts - 1
        self._stages[task.stage].ready.extendleft(reversed(made))
        return []
