"""The state machine: leases, strikes, division of failing blocks, copies of late tasks, bounded queues.

Calls pass the time as an argument, so that a simulation can test every order of events.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count, pairwise
from math import inf

from jinx_pipeline.schedule.block_flow import BlockFlow, Committed, Entry, RowsByPort, nothing_committed
from jinx_pipeline.schedule.graph import Graph
from jinx_pipeline.schedule.node_queue import NodeQueue, RunningLease, TaskState
from jinx_pipeline.schedule.task import Cause, Lease, Limits, Quarantined, RefusedError, Verdict

_STALE = Verdict(accepted=False)
_ACCEPTED = Verdict(accepted=True)


class Scheduler:
    """Assigns tasks to workers until every node of a graph has finished every block.

    Args:
        graph: The nodes.
        limits: The limits.
        committed: Returns the committed output of an earlier run; called for each block with rows that arrives at a
            node.
        first_attempt: The first number of a lease, above those of earlier runs.

    Raises:
        GraphError: Committed output has other ports than its node.
    """

    def __init__(
        self,
        graph: Graph,
        limits: Limits | None = None,
        *,
        committed: Committed = nothing_committed,
        first_attempt: int = 0,
    ) -> None:
        self._limits = limits or Limits()
        self._flow = BlockFlow(graph, committed)
        levels = graph.levels()
        strikes = self._limits.strikes
        self._queues = {node.id: NodeQueue(node, levels[node.id], max(node.strikes, strikes)) for node in graph.order}
        self._pools: dict[str, list[NodeQueue]] = defaultdict(list)
        for queue in self._queues.values():
            if queue.node.pool is not None:
                self._pools[queue.node.pool].append(queue)
            for producer in {stream.node for stream in queue.node.inputs}:
                self._queues[producer].consumers.append(queue)
        self._leases: dict[int, RunningLease] = {}
        self._delayed: list[tuple[float, int, TaskState]] = []
        self._attempts = count(first_attempt)
        self._ties = count()
        for node in graph.order:
            if node.blocks is not None:
                self.set_blocks(node.id, node.blocks)

    @property
    def finished(self) -> bool:
        """Whether every node is finished."""
        return self._flow.finished

    def is_finished(self, node: str) -> bool:
        """Whether a node has finished every block."""
        return self._flow.is_finished(node)

    def take_finished(self) -> list[str]:
        """The nodes that were finished since the last call, each after those that it depends on."""
        return self._flow.take_finished()

    def set_blocks(self, node: str, blocks: Mapping[int, int]) -> None:
        """Set the blocks of a source, once; its control inputs may be finished before or after.

        Raises:
            GraphError: The node is not a source, has blocks already, or meets a source with other blocks; nothing
                has changed then.
        """
        self._enter(self._flow.set_blocks(node, blocks))

    def waiting(self, pool: str) -> int:
        """The number of tasks that workers of a pool could take now or after a delay."""
        room = self._limits.queue
        return sum(queue.delayed + len(queue.ready) * queue.has_room(room) for queue in self._pools.get(pool, ()))

    def next_time(self) -> float | None:
        """When the next delay ends; None if there is none."""
        pauses = [queue.paused_until for queue in self._queues.values() if queue.paused_until and queue.ready]
        return min([*pauses, *(when for when, _, _ in self._delayed[:1])], default=None)

    def lease(self, worker: str, pool: str, now: float, *, is_ahead: bool = False) -> Lease | None:
        """The next task for a worker; None if there is none now.

        Args:
            worker: The worker.
            pool: Its pool.
            now: The time.
            is_ahead: Whether the worker still runs another task; `begin` is called when it begins this one. Copies of
                stragglers are not handed out ahead.
        """
        self._wake(now)
        queues = self._pools.get(pool, ())
        # Nodes near the end of the graph come first, because they empty the queues. Full queues cannot block
        # everything: among the nodes with ready tasks, the one nearest to the end has only empty queues after it.
        able = (queue for queue in queues if queue.may_begin(self._limits.queue))
        first = min(able, key=lambda queue: (queue.level, queue.ready[0][0]), default=None)
        if first is not None:
            return self._hand_out(first, first.pop(), worker, inf if is_ahead else now)
        for queue in queues if not is_ahead else ():
            straggler = queue.straggler(worker, now, self._limits)
            if straggler is not None:
                return self._hand_out(queue, straggler, worker, now)
        return None

    def begin(self, attempt: int, now: float) -> None:
        """Record that a worker begins a task that was queued for it."""
        running = self._leases.get(attempt)
        if running is not None:
            self._queues[running.lease.task.node].begin(running, now, self._limits.copies)

    def give_back(self, attempt: int) -> None:
        """End a lease without counting a failure: its worker has not begun it, or was asked to leave it."""
        running = self._leases.pop(attempt, None)
        if running is None:
            return
        queue = self._queues[running.lease.task.node]
        queue.end(running, self._limits.copies)
        if not running.state.leases:
            self._put_back(queue, running.state, None)

    def receipt(self, attempt: int, rows: RowsByPort, now: float) -> Verdict:
        """A worker has finished a task; only the first receipt of a task is accepted.

        Args:
            attempt: The number of the lease.
            rows: The output rows of each port.
            now: The time.

        Raises:
            GraphError: The node has other ports; nothing has changed then.
        """
        running = self._leases.get(attempt)
        if running is None:
            return _STALE
        state = running.state
        self._flow.check_rows(state.task.node, rows)
        queue = self._queues[state.task.node]
        queue.count(state.task.rows, now - running.started)
        losers = self._withdraw(state, attempt)
        self._complete(state, rows)
        return Verdict(accepted=True, losers=losers) if losers else _ACCEPTED

    def lost(self, attempt: int, cause: Cause, now: float, *, delay: float = 0.0) -> Verdict:
        """A lease has ended without a receipt.

        Args:
            attempt: The number of the lease.
            cause: Why it ended.
            now: The time.
            delay: For THROTTLED: how long the service asked to wait.

        Raises:
            RefusedError: The service has asked to wait too often.
        """
        running = self._leases.pop(attempt, None)
        if running is None:
            return _STALE
        state = running.state
        queue = self._queues[state.task.node]
        queue.end(running, self._limits.copies)
        limits = self._limits
        if cause is Cause.NODE:
            state.nodes_lost += 1
            delay = self._backoff(state.nodes_lost)
        elif cause is Cause.NODE_MEMORY and state.memory_kills < limits.memory_kills:
            state.memory_kills += 1
            state.task = replace(state.task, batch_share=2)
            delay = self._backoff(state.memory_kills)
        elif cause is Cause.MEMORY and state.task.batch_share == 1:
            state.task = replace(state.task, batch_share=2)
            delay = 0.0
        elif cause is Cause.THROTTLED:
            self._count_throttle(queue, state)
            delay = max(delay, limits.backoff_seconds)
            queue.pause(now + delay)
        else:
            state.strikes += 1
            if state.strikes >= queue.strikes:
                return self._divide(queue, state, cause)
            delay = self._backoff(state.memory_kills) if cause is Cause.NODE_MEMORY else 0.0
        if not state.leases:
            self._put_back(queue, state, now + delay if delay > 0 else None)
        return _ACCEPTED

    def _backoff(self, times: int) -> float:
        return min(self._limits.backoff_seconds * 2 ** min(times - 1, 20), self._limits.max_backoff_seconds)

    # Methods for blocks.

    def _enter(self, entries: Iterable[Entry]) -> None:
        for node, block, rows in entries:
            self._queues[node].push_block(block, rows)

    def _complete(self, state: TaskState, rows: RowsByPort) -> None:
        block, task = state.block, state.task
        block.missing -= 1
        for port, number in rows.items():
            block.rows[port] = block.rows.get(port, 0) + number
        if not block.missing:
            self._enter(self._flow.complete(task.node, task.block, block.rows))

    # Methods for leases.

    def _hand_out(self, queue: NodeQueue, state: TaskState, worker: str, started: float) -> Lease:
        is_last_try = state.task.rows == 1 and state.strikes + len(state.leases) + 1 >= queue.strikes
        lease = Lease(state.task, next(self._attempts), worker, is_last_try)
        self._leases[lease.attempt] = running = RunningLease(lease, state, started)
        queue.start(running, self._limits.copies)
        return lease

    def _count_throttle(self, queue: NodeQueue, state: TaskState) -> None:
        if state.receipts_at_throttle != queue.receipts:  # the service has answered since the last request to wait
            state.receipts_at_throttle, state.throttles = queue.receipts, 0
        state.throttles += 1
        if state.throttles >= self._limits.throttles:
            raise RefusedError

    def _withdraw(self, state: TaskState, winner: int | None = None) -> tuple[Lease, ...]:
        """End all leases of a task; returns those except the winner."""
        leases = self._queues[state.task.node].release(state)
        for lease in leases:
            del self._leases[lease.attempt]
        return tuple(lease for lease in leases if lease.attempt != winner)

    def _put_back(self, queue: NodeQueue, state: TaskState, until: float | None) -> None:
        queue.release(state)
        if until is None:
            queue.push(state)
        else:
            queue.delayed += 1
            heapq.heappush(self._delayed, (until, next(self._ties), state))

    def _wake(self, now: float) -> None:
        for queue in self._queues.values():
            if queue.paused_until <= now:
                queue.paused_until = 0.0
        while self._delayed and self._delayed[0][0] <= now:
            state = heapq.heappop(self._delayed)[2]
            queue = self._queues[state.task.node]
            queue.delayed -= 1
            queue.push(state)

    def _divide(self, queue: NodeQueue, state: TaskState, cause: Cause) -> Verdict:
        """Replace a failing task with smaller ones, or give up its single row."""
        losers = self._withdraw(state)
        task = state.task
        if task.rows == 1:
            self._complete(state, dict.fromkeys(queue.node.outputs, 0))
            return Verdict(accepted=True, losers=losers, quarantined=Quarantined(task, cause))
        parts = min(self._limits.pieces, task.rows)
        edges = [task.first + task.rows * part // parts for part in range(parts + 1)]
        state.block.missing += parts - 1
        for first, last in pairwise(edges):
            smaller = TaskState(replace(task, first=first, rows=last - first), state.block)
            # The larger task has already failed, so one more failure of a piece is enough. A single row gets its full
            # number of attempts.
            if smaller.task.rows > 1:
                smaller.strikes, smaller.memory_kills = queue.strikes - 1, state.memory_kills
            queue.push(smaller)
        return Verdict(accepted=True, losers=losers)
