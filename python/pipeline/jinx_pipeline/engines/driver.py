"""Drives a graph: the scheduler decides about tasks, workers do them, the ledger keeps what they made.

Of its own it decides about workers alone: when they are started, and which one makes room for another.
"""

import time
from collections.abc import Callable, Mapping
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
from jinx_pipeline.runlog.work_dir import port_path, remove_part
from jinx_pipeline.schedule.graph import Graph
from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Cause, Lease, Limits, Quarantined, RefusedError, Task
from jinx_pipeline.worker.map_work import row_of
from jinx_pipeline.worker.work import Work

TICK_SECONDS = 0.5
# Workers that die before their first task have a broken environment: after so many the run stops, unless others work.
_FAILED_STARTS = 5
# A node may be short of memory for some minutes.
_FAILED_STARTS_FOR_MEMORY = 12
# Tasks of few rows, one after another, that fail with an error of the machine: then it is taken for one. Of one row or
# a few, a task fails twice, and so do the tasks into which it is divided.
_UNFIT_TASKS, _UNFIT_ROWS = 16, 8
# The wait after the first of them; it doubles.
_START_AGAIN_SECONDS, _MOST_START_AGAIN_SECONDS = 0.1, 30.0
# After this long without a worker of a pool, others that have nothing to do make room for it, one a second. Loading
# large libraries takes less.
_STARVED_SECONDS, _MAKE_ROOM_SECONDS = 30.0, 1.0
# What is committed is put on the disk, and told, no more often than this. A slow disk is waited for during at most a
# fifth of the time: after a wait, so many times as long passes without another.
_REPORT_SECONDS, _SECONDS_PER_SYNC_SECOND = 0.1, 4.0
# After this long without news, people are told what is waited for.
_QUIET_SECONDS = 60.0


class StoppedError(RuntimeError):
    """The run stopped and can be resumed: what is committed stays."""


class RepairError(StoppedError):
    """The run stopped, and running it again stops again: something is to be repaired or allowed first."""


class TooManyBadRowsError(RepairError):
    """More rows were left out than the recipe allows."""


class Streams(Protocol):
    """Where the rows of each node are, and how people know them."""

    def read_by(self, task: Task) -> tuple[Source, Task]:
        """What a task reads, and the task with its first row as that counts it."""
        ...

    def named(self, node: str, bad: BadRow) -> BadRow:
        """A row that was left out, with the name that people know it by.

        Args:
            node: At which node; empty where that is not known.
            bad: The row.
        """
        ...

    def counts(self, node: str) -> bool:
        """Whether rows that are left out at a node count against the limit of the recipe."""
        ...


@dataclass
class Observer:
    """Who is told what happens; every attribute may be replaced.

    Attributes:
        event: Called with a kind and facts.
        tick: Called about twice a second.
    """

    event: Callable[[str, dict[str, Any]], None] = field(default=lambda *_: None)
    tick: Callable[[], None] = field(default=lambda: None)


class Driver:
    """Runs the tasks of a graph that are not committed yet.

    Args:
        graph: The nodes; `begin` gives the blocks of those that read nothing.
        streams: Where the rows of each node are.
        worker_pool: The workers.
        counts: How many workers of each pool.
        ledger: What is committed; its directory is where parts go.
        limits: The scheduler's numbers.
        stop_after_bad: The run stops when more rows than this were left out; None: never.
        observer: Who is told.
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
        self._scheduler = Scheduler(graph, limits, committed=self._committed, first_attempt=ledger.next_attempt)
        self._tasks = TaskGiver(self._scheduler, worker_pool, self._request, self._discard)
        self._failed_starts = self._unfit_tasks = 0
        self._start_again_at = self._made_room_at = 0.0
        # Blocks that are committed, and are told when the run log is on the disk.
        self._unreported: list[tuple[str, dict[str, Any]]] = []
        self._report_at = 0.0
        self._last_news = time.monotonic()
        self._bad = ledger.bad_count

    def begin(self, node: str, blocks: Mapping[int, int], works: Mapping[str, Work]) -> None:
        """Give a node that reads nothing its blocks, which it passes on to those that read it.

        Args:
            node: Which node.
            blocks: Rows of each block, by number.
            works: What the nodes do that have these blocks.

        Raises:
            GraphError: They differ from those of another node that meets it further down.
            TypeError: An operator holds what cannot be sent to another process.
        """
        self._works.update(works)
        self._scheduler.set_blocks(node, blocks)
        self._refuse_too_many_bad()
        for node_id, work in works.items():
            if not self._scheduler.is_finished(node_id):
                self._workers.workers.load_work(node_id, work)

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
            StoppedError: Something happened that needs a person; everything committed is kept.
        """
        try:
            while not self.finished:
                self.step(TICK_SECONDS)
        finally:
            self.report()

    def step(self, timeout: float) -> None:
        """Give workers what they can take, wait for news of them, and handle these.

        Between two calls, nothing is lost: what workers report meanwhile is heard in the next one.

        Args:
            timeout: The longest wait in seconds.

        Raises:
            StoppedError: As `run`.
        """
        self._start_workers()
        self._tasks.hand_out()
        self._tasks.end_unwanted()
        self._make_room()
        # While workers have new tasks already.
        if time.monotonic() >= self._report_at:
            self.report()
        self._handle_events(timeout)
        self._observer.tick()

    def cancel(self) -> None:
        """End the tasks that workers have; everything committed is kept, and `step` would do the rest again."""
        self._tasks.cancel()
        self.report()

    def _committed(self, node: str, block: int, rows: int) -> dict[str, int] | None:
        """The rows that came out of a block in an earlier run.

        Where it is not all there, its pieces are forgotten, since its tasks are divided in new ways, and so are those
        of the nodes that have read it.
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
        """Wait for news, and handle them."""
        wake = self._scheduler.next_time()
        now = time.monotonic()
        patience = timeout if wake is None else min(wake - now, timeout)
        # A delay that has ended belongs to a task that waits for a worker.
        patience = patience if patience > 0 else timeout
        if self._unreported:
            patience = min(patience, max(self._report_at - now, 0.0))
        news = self._workers.workers.events(patience)
        self._report_waiting(bool(news))
        for event in news:
            # Its worker may have been ended because of an event that came together with this one.
            if event.worker in self._workers.pool_of:
                self._handle(event)

    def report(self) -> None:
        """Put what was committed on the disk, and tell of it."""
        untold, self._unreported = self._unreported, []
        started = time.monotonic()
        self._ledger.sync()
        if untold:
            ended = time.monotonic()
            self._report_at = ended + max(_REPORT_SECONDS, _SECONDS_PER_SYNC_SECOND * (ended - started))
        for kind, facts in untold:
            self._observer.event(kind, facts)

    def _report_waiting(self, has_news: bool) -> None:  # noqa: FBT001 - what happened
        now = time.monotonic()
        if has_news:
            self._last_news = now
        elif now - self._last_news >= _QUIET_SECONDS:
            self._last_news = now
            self._observer.event("waiting", {"seconds": _QUIET_SECONDS, **self._workers.waiting_on()})

    def _start_workers(self) -> None:
        """Start workers where there is work for them."""
        if time.monotonic() < self._start_again_at:
            return
        for pool, count in self._counts.items():
            wanted = min(count, self._workers.busy_count(pool) + self._scheduler.waiting(pool))
            for _ in range(wanted - self._workers.count(pool)):
                self._workers.start(pool)

    def _make_room(self) -> None:
        """Where no worker of a pool can start, others may hold what it needs, or be before it in the queue for that."""
        now = time.monotonic()
        if not self._workers.workers.may_lack_room or now - self._made_room_at < _MAKE_ROOM_SECONDS:
            return
        self._made_room_at = now
        starved = self._workers.starved(_STARVED_SECONDS)
        if not starved:
            return
        useless = [
            worker
            for worker, pool in self._workers.pool_of.items()
            if pool not in starved and worker not in self._workers.assignments and not self._scheduler.waiting(pool)
        ]
        # Those that wait themselves first: they hold nothing.
        useless.sort(key=lambda worker: worker not in self._workers.starting)
        if useless:
            self._observer.event("made room", {"worker": useless[0], "for": starved})
            self._workers.kill(useless[0])

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
            self._fatal(event)
        elif isinstance(event, Died):
            self._died(event)
        else:
            self._answered(event)

    def _answered(self, event: Finished | Failed | Stopped) -> None:
        """A worker has left a task, in whatever way."""
        ended = self._tasks.end(event.worker, event.attempt)
        if ended is None or ended.kill_at is not None:
            # Such as a second answer to a task, or one that is not wanted any more.
            self._observer.event("ignored", {"worker": event.worker, "attempt": event.attempt})
            if ended is not None:
                self._discard(ended)
        elif isinstance(event, Finished):
            self._finished(event, ended)
        elif isinstance(event, Failed):
            self._observer.event("failed", {"worker": event.worker, "cause": event.cause.value, "what": event.what})
            self._lost(ended, event.cause, event.seconds, what=event.what, operator=event.operator)
        else:
            self._tasks.give_back([ended])

    def _fatal(self, event: FatalEvent) -> None:
        """Stop, unless it was a few rows, and no more than a few such tasks one after another."""
        current = self._workers.current(event.worker)
        if current is not None and current.kill_at is not None:  # of a task that is not wanted any more
            self._tasks.end(event.worker, current.lease.attempt)
            discard(current.path)
            return
        are_few = current is not None and current.lease.task.rows < _UNFIT_ROWS
        if not event.operator or current is None or not are_few or self._unfit_tasks >= _UNFIT_TASKS:
            kind = RepairError if event.needs_repair else StoppedError
            raise kind(f"{event.what} (worker {event.worker}{f' on {event.host}' if event.host else ''})")
        self._unfit_tasks += 1
        self._tasks.end(event.worker, current.lease.attempt)
        self._lost(current, Cause.FAILED, 0.0, what=event.what, operator=event.operator)

    def _finished(self, event: Finished, ended: Assignment) -> None:
        task, receipt = ended.lease.task, event.receipt
        self._unfit_tasks = 0
        rows = self._rows_by_port(task.node, receipt.rows_by_port)
        verdict = self._scheduler.receipt(event.attempt, rows, time.monotonic())
        if not verdict.accepted:
            self._discard(ended)
            return
        self._ledger.commit(task, event.attempt, receipt)
        kind = "block" if self._works[task.node].poison == "row" else "task"
        facts = {"node": task.node, "block": task.block, "rows": task.rows, "rows_out": receipt.rows_out}
        self._unreported.append((kind, {**facts, "seconds": receipt.seconds, "worker": event.worker}))
        for bad in receipt.bad:
            self._left_out(task.node, bad)
        self._tasks.abandon(verdict.losers)

    def _died(self, event: Died) -> None:
        was_starting, pool = event.worker in self._workers.starting, self._workers.pool_of[event.worker]
        assignments = self._workers.remove(event.worker)
        self._observer.event("died", {"worker": event.worker, "cause": event.cause.value, "what": event.what})
        if assignments:
            # The first one is what it was at; the others it has not begun.
            current, *others = assignments
            self._tasks.give_back(others)
            if current.kill_at is None:
                self._lost(current, event.cause, 0.0, what=event.what, operator=event.operator)
            else:
                self._discard(current)
        elif was_starting and event.cause is not Cause.NODE:
            most = _FAILED_STARTS_FOR_MEMORY if event.cause is Cause.NODE_MEMORY else _FAILED_STARTS
            self._failed_to_start(pool, event, most)

    def _failed_to_start(self, pool: str, event: Died, most: int) -> None:
        delay = min(_START_AGAIN_SECONDS * 2 ** min(self._failed_starts, 20), _MOST_START_AGAIN_SECONDS)
        self._start_again_at = time.monotonic() + delay
        self._failed_starts += 1
        if self._failed_starts >= most and not self._workers.assignments and not self._workers.idle.get(pool):
            log = self._directory.work_dir / "workers.log"
            see = f"; see {log}" if log.exists() else ""
            what = f"workers end before their first task ({event.what}){see}"
            if event.cause is Cause.MEMORY:
                raise RepairError(f"{what}; give each more memory (--memory), or use fewer workers (--workers)")
            raise StoppedError(what)

    def _lost(self, ended: Assignment, cause: Cause, delay: float, *, what: str, operator: str = "") -> None:
        self._discard(ended)
        why = f"{cause.value}: {what}" if what else cause.value
        try:
            verdict = self._scheduler.lost(ended.lease.attempt, cause, time.monotonic(), delay=delay)
        except RefusedError:
            raise StoppedError(
                f"a service keeps asking to wait, and no rows are done meanwhile ({what}); see to its quota or its "
                f"load, and run again: the run is resumed"
            ) from None
        if (given_up := verdict.quarantined) is not None:
            work = self._works[given_up.task.node]
            if work.poison == "fatal":
                raise StoppedError(f"{work.label}: {why}")
            row, counted = self._input_row(given_up)
            bad = BadRow(row, operator, plain_text(why), counted=counted)
            self._ledger.give_up(given_up.task, bad)
            self._left_out(given_up.task.node, bad)
        self._tasks.abandon(verdict.losers)

    def _input_row(self, given_up: Quarantined) -> tuple[int, str]:
        """The row of the pipeline's input that a task of one row was about; as `row_of`."""
        source, task = self._streams.read_by(given_up.task)
        if source.bounds is not None:
            return task.first, "group"
        rows = self._sources.get(source).slice(task.first, 1)
        return row_of(rows, int(rows.positions(task.first, 1)[0]))

    def _discard(self, assignment: Assignment) -> None:
        """Remove what an attempt has written."""
        discard(assignment.path)
        for port in self._ports[assignment.lease.task.node]:
            if port != "out":
                remove_part(port_path(Path(assignment.path), port))

    def _left_out(self, node: str, left_out: BadRow) -> None:
        bad = self._streams.named(node, left_out)
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
