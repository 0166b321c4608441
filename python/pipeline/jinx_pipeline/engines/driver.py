"""Drives a graph: the scheduler decides about tasks, workers run them, and the ledger records their results.

The driver itself only decides about workers: when they are started, and which one makes room for another.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jinx_pipeline.engines.task_giver import TaskGiver, discard
from jinx_pipeline.engines.worker_backend import Died, Event, Failed, FatalEvent, Finished, Ready, Request, Stopped
from jinx_pipeline.engines.worker_pool import Assignment, WorkerPool
from jinx_pipeline.model.error_text import plain_text
from jinx_pipeline.model.receipt import BadRow
from jinx_pipeline.plan.source import Source, SourceCache
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.schedule.graph import Graph
from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Cause, Lease, Limits, Quarantined, RefusedError, Task
from jinx_pipeline.worker.map_work import MapWork, row_of
from jinx_pipeline.worker.work import Work

TICK_SECONDS = 0.5
# The run stops after this many workers have died before their first task, unless other workers are alive.
_FAILED_STARTS = 5
# Allow more attempts if a node is short of memory, which may last some minutes.
_FAILED_STARTS_FOR_MEMORY = 12
# If this many tasks in a row, each with at most this many rows, fail with an error that the machine may have caused,
# the machine is to blame. A task with bad rows fails only twice, and so do the tasks into which it is divided.
_UNFIT_TASKS, _UNFIT_ROWS = 16, 8
# The delay after the first failed start, which doubles each time, and its maximum.
_RESTART_SECONDS, _MAX_RESTART_SECONDS = 0.1, 30.0
# If no worker of a pool has started for this long, idle workers of other pools are ended, one per second. Even loading
# large libraries takes less time.
_STARVED_SECONDS, _MAKE_ROOM_SECONDS = 30.0, 1.0
# The next sync waits for this many times the duration of the last, to spend at most a fifth of the time on a slow disk.
_SECONDS_PER_SYNC_SECOND = 4.0
# After this long without an event, the driver reports what the run waits for.
_QUIET_SECONDS = 60.0


class StoppedError(RuntimeError):
    """Raised when a run stops and can be resumed; committed work is kept."""


class RepairError(StoppedError):
    """Raised when a run stops and would stop again; something must be repaired or allowed first."""


class TooManyBadRowsError(RepairError):
    """Raised when more rows are left out than the recipe allows."""


class Streams(Protocol):
    """Finds the rows of each node, and their names in the sources."""

    def read_by(self, task: Task) -> tuple[Source, Task]:
        """The rows that a task reads, and the task with its first row counted in them."""
        ...

    def named(self, node: str, bad: BadRow) -> BadRow:
        """A row that was left out, as its source and the number in it.

        Args:
            node: The node that left it out; empty if unknown.
            bad: The row.
        """
        ...

    def counts(self, node: str) -> bool:
        """Whether rows that a node leaves out count towards the recipe's limit."""
        ...


@dataclass
class Observer:
    """Callbacks of a driver.

    Attributes:
        event: Called with the kind of an event and its facts.
        tick: Called about twice a second.
    """

    event: Callable[[str, dict[str, Any]], None] = field(default=lambda *_: None)
    tick: Callable[[], None] = field(default=lambda: None)


class Driver:
    """Runs the tasks of a graph that are not committed yet.

    Args:
        graph: The nodes; `begin` sets the blocks of those that read nothing.
        streams: Finds the rows of each node.
        worker_pool: The workers.
        counts: The maximum number of workers of each pool.
        ledger: The committed work; parts go to its directory.
        limits: Limits of the scheduler.
        stop_after_bad: The run stops when more rows than this were left out; None: never.
        observer: Receives events.
    """

    def __init__(
        self,
        graph: Graph,
        streams: Streams,
        worker_pool: WorkerPool,
        counts: Mapping[str, int],
        ledger: Ledger,
        *,
        limits: Limits | None = None,
        stop_after_bad: int | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._streams = streams
        self._workers = worker_pool
        self._counts = counts
        self._ledger = ledger
        self._directory = ledger.directory
        self._stop_after_bad = stop_after_bad
        self._observer = observer or Observer()
        self._sources = SourceCache()
        self._works: dict[str, Work] = {}
        self._ports = {node.id: node.outputs for node in graph.nodes}
        self._readers = graph.readers()
        self._scheduler = Scheduler(graph, limits, committed=self._committed_rows, first_attempt=ledger.next_attempt)
        self._tasks = TaskGiver(self._scheduler, worker_pool, self._request, self._discard)
        self._failed_starts = self._unfit_tasks = 0
        self._restart_at = self._made_room_at = 0.0
        # Commit events, which are reported once the run log is synced.
        self._unreported: list[tuple[str, dict[str, Any]]] = []
        self._report_at = 0.0
        self._last_event_at = time.monotonic()
        self._bad = ledger.bad_count

    def begin(self, node: str, blocks: Mapping[int, int], works: Mapping[str, Work]) -> None:
        """Set the blocks of a node that reads nothing; nodes that read it have the same blocks.

        Args:
            node: The node.
            blocks: Rows of each block, by number.
            works: The work of each node that has these blocks.

        Raises:
            GraphError: A node reads this node and another one, whose blocks differ.
            TypeError: An operator holds an object that cannot be sent to another process.
        """
        self._works.update(works)
        self._scheduler.set_blocks(node, blocks)
        self._refuse_too_many_bad()
        for node_id, work in works.items():
            if not self._scheduler.is_finished(node_id):
                self._workers.workers.load_work(node_id, work)

    def discard(self, nodes: Sequence[str]) -> None:
        """Drop the committed work of nodes that have not begun, because their input rows have changed."""
        before = self._ledger.bad_count
        self._ledger.discard(nodes)
        self._bad += self._ledger.bad_count - before

    def take_finished(self) -> list[str]:
        """The nodes that were finished since the last call, each after those that it depends on."""
        return self._scheduler.take_finished()

    @property
    def finished(self) -> bool:
        """Whether every block is done."""
        return self._scheduler.finished

    def run(self) -> None:
        """Run until every block is done.

        Raises:
            StoppedError: The run needs attention; everything committed is kept.
        """
        try:
            while not self.finished:
                self.step(TICK_SECONDS)
        finally:
            self.report()

    def step(self, timeout: float) -> None:
        """Give tasks to workers, wait for their events, and handle them.

        Nothing is lost between two calls: the next call handles the events that arrived in between.

        Args:
            timeout: The longest wait in seconds.

        Raises:
            StoppedError: As `run`.
        """
        self._start_workers()
        self._tasks.hand_out()
        self._tasks.end_unwanted()
        self._make_room()
        # Workers already have new tasks, so they do not wait for this sync.
        if time.monotonic() >= self._report_at:
            self.report()
        self._handle_events(timeout)
        self._observer.tick()

    def cancel(self) -> None:
        """End the running tasks; everything committed is kept, and `step` would run the other tasks again."""
        self._tasks.cancel()
        self.report()

    def _committed_rows(self, node: str, block: int, rows: int) -> dict[str, int] | None:
        """The output rows of a block by port, if an earlier process committed all of it.

        Otherwise the pieces of the block are dropped, also in the nodes that read it, since its tasks may be divided
        differently now.
        """
        ports = self._ledger.committed(node, block, rows)
        if ports is not None:
            return self._rows_by_port(node, ports)
        before = self._ledger.bad_count
        for node_id in (node, *self._readers[node]):
            if self._ledger.has_pieces(node_id, block):
                self._ledger.forget(node_id, block)
        self._bad += self._ledger.bad_count - before
        return None

    def _rows_by_port(self, node: str, rows: Mapping[str, int]) -> dict[str, int]:
        return {port: rows.get(port, 0) for port in self._ports[node]}

    def _handle_events(self, timeout: float) -> None:
        """Wait for events, and handle them."""
        next_time = self._scheduler.next_time()
        now = time.monotonic()
        wait = timeout if next_time is None else min(next_time - now, timeout)
        # If the delay is over, the task is only waiting for a worker.
        wait = wait if wait > 0 else timeout
        if self._unreported:
            wait = min(wait, max(self._report_at - now, 0.0))
        events = self._workers.workers.events(wait)
        self._report_waiting(bool(events))
        for event in events:
            # An earlier event of this list may have ended the worker.
            if event.worker in self._workers.pool_of:
                self._handle(event)

    def report(self) -> None:
        """Sync the run log, and report what was committed."""
        events, self._unreported = self._unreported, []
        started = time.monotonic()
        self._ledger.sync()
        if events:
            ended = time.monotonic()
            self._report_at = ended + max(self._ledger.sync_seconds, _SECONDS_PER_SYNC_SECOND * (ended - started))
        for kind, facts in events:
            self._observer.event(kind, facts)

    def _report_waiting(self, has_events: bool) -> None:  # noqa: FBT001 - private, and has one caller
        now = time.monotonic()
        if has_events:
            self._last_event_at = now
        elif now - self._last_event_at >= _QUIET_SECONDS:
            self._last_event_at = now
            self._observer.event("waiting", {"seconds": _QUIET_SECONDS, **self._workers.waiting_on()})

    def _start_workers(self) -> None:
        """Start workers for pools with waiting tasks."""
        if time.monotonic() < self._restart_at:
            return
        for pool, count in self._counts.items():
            needed = min(count, self._workers.busy_count(pool) + self._scheduler.waiting(pool))
            for _ in range(needed - self._workers.count(pool)):
                self._workers.start(pool)

    def _make_room(self) -> None:
        """End an idle worker if a pool starves: it may hold resources of the pool, or be ahead of it in a queue."""
        now = time.monotonic()
        if not self._workers.workers.may_lack_room or now - self._made_room_at < _MAKE_ROOM_SECONDS:
            return
        self._made_room_at = now
        starved = self._workers.starved(_STARVED_SECONDS)
        if not starved:
            return
        idle = [
            worker
            for worker, pool in self._workers.pool_of.items()
            if pool not in starved and worker not in self._workers.assignments and not self._scheduler.waiting(pool)
        ]
        # Workers that are still starting are ended first, because they hold nothing yet.
        idle.sort(key=lambda worker: worker not in self._workers.starting)
        if idle:
            self._observer.event("made room", {"worker": idle[0], "for": starved})
            self._workers.kill(idle[0])

    def _request(self, lease: Lease) -> Request:
        path = self._directory.part_path(lease.task, lease.attempt, self._works[lease.task.node].suffix)
        source, task = self._streams.read_by(lease.task)
        return Request(lease.task.node, source, task, lease.attempt, str(path), lease.is_last_try)

    def _handle(self, event: Event) -> None:
        if isinstance(event, Ready):
            self._workers.mark_idle(event.worker)
            self._failed_starts = 0
            self._observer.event("ready", {"worker": event.worker, **({"node": event.node} if event.node else {})})
        elif isinstance(event, FatalEvent):
            self._handle_fatal(event)
        elif isinstance(event, Died):
            self._handle_death(event)
        else:
            self._handle_answer(event)

    def _handle_answer(self, event: Finished | Failed | Stopped) -> None:
        ended = self._tasks.end(event.worker, event.attempt)
        if ended is None or ended.kill_at is not None:
            # For example, a second answer to a task, or an answer to a cancelled task.
            self._observer.event("ignored", {"worker": event.worker, "attempt": event.attempt})
            if ended is not None:
                self._discard(ended)
        elif isinstance(event, Finished):
            self._commit(event, ended)
        elif isinstance(event, Failed):
            self._observer.event("failed", {"worker": event.worker, "cause": event.cause.value, "what": event.what})
            self._handle_lost(ended, event.cause, event.seconds, what=event.what, operator=event.operator)
        else:
            self._tasks.give_back([ended])

    def _handle_fatal(self, event: FatalEvent) -> None:
        """Stop the run, unless the task has few rows and not many such tasks have failed in succession."""
        current = self._workers.current(event.worker)
        if current is not None and current.kill_at is not None:  # the task was cancelled
            self._tasks.end(event.worker, current.lease.attempt)
            self._discard(current)
            return
        are_few = current is not None and current.lease.task.rows < _UNFIT_ROWS
        if not event.operator or current is None or not are_few or self._unfit_tasks >= _UNFIT_TASKS:
            kind = RepairError if event.needs_repair else StoppedError
            raise kind(f"{event.what} (worker {event.worker}{f' on {event.host}' if event.host else ''})")
        self._unfit_tasks += 1
        self._tasks.end(event.worker, current.lease.attempt)
        self._handle_lost(current, Cause.FAILED, 0.0, what=event.what, operator=event.operator)

    def _commit(self, event: Finished, ended: Assignment) -> None:
        task, receipt = ended.lease.task, event.receipt
        self._unfit_tasks = 0
        rows = self._rows_by_port(task.node, receipt.rows_by_port)
        verdict = self._scheduler.receipt(event.attempt, rows, time.monotonic())
        if not verdict.accepted:
            self._discard(ended)
            return
        self._ledger.commit(task, event.attempt, receipt)
        kind = "block" if self._works[task.node].poison == "row" else "task"
        facts = {"node": task.node, "block": task.block, "rows": task.rows, "rows_out": receipt.rows_by_port["out"]}
        self._unreported.append((kind, {**facts, "seconds": receipt.seconds, "worker": event.worker}))
        for bad in receipt.bad:
            self._record_bad_row(task.node, bad)
        self._tasks.abandon(verdict.losers)

    def _handle_death(self, event: Died) -> None:
        was_starting, pool = event.worker in self._workers.starting, self._workers.pool_of[event.worker]
        assignments = self._workers.remove(event.worker)
        self._observer.event("died", {"worker": event.worker, "cause": event.cause.value, "what": event.what})
        if assignments:
            # The worker was running the first task, and had not begun the others.
            current, *pending = assignments
            self._tasks.give_back(pending)
            if current.kill_at is None:
                self._handle_lost(current, event.cause, 0.0, what=event.what, operator=event.operator)
            else:
                self._discard(current)
        elif was_starting and event.cause is not Cause.NODE:
            limit = _FAILED_STARTS_FOR_MEMORY if event.cause is Cause.NODE_MEMORY else _FAILED_STARTS
            self._delay_starts(pool, event, limit)

    def _delay_starts(self, pool: str, event: Died, limit: int) -> None:
        """Delay further starts after a worker failed to start; stop after too many failures."""
        delay = min(_RESTART_SECONDS * 2 ** min(self._failed_starts, 20), _MAX_RESTART_SECONDS)
        self._restart_at = time.monotonic() + delay
        self._failed_starts += 1
        if self._failed_starts >= limit and not self._workers.assignments and not self._workers.idle.get(pool):
            log = self._directory.work_dir / "workers.log"
            hint = f"; see {log}" if log.exists() else ""
            message = f"workers end before their first task ({event.what}){hint}"
            if event.cause is Cause.MEMORY:
                raise RepairError(f"{message}; give each more memory (--memory), or use fewer workers (--workers)")
            raise StoppedError(message)

    def _handle_lost(self, ended: Assignment, cause: Cause, delay: float, *, what: str, operator: str = "") -> None:
        self._discard(ended)
        reason = f"{cause.value}: {what}" if what else cause.value
        try:
            verdict = self._scheduler.lost(ended.lease.attempt, cause, time.monotonic(), delay=delay)
        except RefusedError:
            raise StoppedError(
                f"a service keeps asking to wait, and no rows are finished meanwhile ({what}); check its quota and "
                f"load, and run again: the run is resumed"
            ) from None
        if (given_up := verdict.quarantined) is not None:
            work = self._works[given_up.task.node]
            if work.poison == "fatal":
                raise StoppedError(f"{work.label}: {reason}")
            row, counted = self._input_row(given_up)
            bad = BadRow(row, operator, plain_text(reason), counted=counted)
            self._ledger.give_up(given_up.task, bad)
            self._record_bad_row(given_up.task.node, bad)
        self._tasks.abandon(verdict.losers)

    def _input_row(self, given_up: Quarantined) -> tuple[int, str]:
        """The row of the pipeline's input that a task of one row reads; a callback like `row_of`."""
        source, task = self._streams.read_by(given_up.task)
        if source.bounds is not None:
            return task.first, "group"
        rows = self._sources.get(source).slice(task.first, 1)
        return row_of(rows, int(rows.positions(task.first, 1)[0]))

    def _discard(self, assignment: Assignment) -> None:
        """Remove the files of an attempt."""
        work, path = self._works[assignment.lease.task.node], Path(assignment.path)
        for part in work.parts(path) if isinstance(work, MapWork) else [path]:
            discard(str(part))

    def _record_bad_row(self, node: str, row: BadRow) -> None:
        bad = self._streams.named(node, row)
        facts = {"source": bad.source, "row": bad.row, "operator": bad.operator, "error": bad.error}
        self._observer.event("bad_row", facts)
        if self._streams.counts(node):
            self._bad += 1
            self._refuse_too_many_bad(bad)

    def _refuse_too_many_bad(self, last: BadRow | None = None) -> None:
        if self._stop_after_bad is None or self._bad <= self._stop_after_bad:
            return
        bad = last or self._streams.named("", self._ledger.bad_rows()[-1])
        raise TooManyBadRowsError(
            f"{self._bad:,} rows were left out because something failed on them, more than stop_after_bad="
            f"{self._stop_after_bad:,}; the last one: {bad.place}, {bad.operator or 'worker'}: {bad.error}; allow more "
            f"to continue without them, or repair the cause and start over with restart (--restart)"
        )
