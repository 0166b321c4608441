"""Drives one segment: the scheduler decides about tasks, workers do them, the ledger keeps what they made.

Of its own it decides about workers alone: when they are started, and which one makes room for another.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jinx_pipeline.engines.worker_backend import Died, Event, Failed, FatalEvent, Finished, Ready, Request
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.model.error_text import plain_text
from jinx_pipeline.model.receipt import BadRow
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.runlog.work_dir import crash_note_path, remove_part, signatures_path
from jinx_pipeline.schedule.graph import Graph, Node, Stream
from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Cause, Lease, Limits, Quarantined, RefusedError
from jinx_pipeline.worker.map_work import row_of
from jinx_pipeline.worker.work import VIEW_SUFFIX, Work

_TICK_SECONDS = 0.5
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


@dataclass(frozen=True)
class Segment:
    """A chain of works without a global operator between them.

    Attributes:
        name: Its name; with the place of a work it names a node.
        works: In order.
        source: What the first one reads.
        blocks: Number and rows of each block; its first row follows from those before it.
    """

    name: str
    works: Sequence[Work]
    source: Source
    blocks: Mapping[int, int]

    def node_ids(self) -> list[str]:
        """The id of each work in the graph of the scheduler."""
        return [f"{self.name}.{place}" for place in range(len(self.works))]

    def graph(self) -> Graph:
        """The chain of its works."""
        nodes: list[Node] = []
        for node_id, work in zip(self.node_ids(), self.works, strict=True):
            if nodes:
                nodes.append(Node(node_id, work.pool, inputs=(Stream(nodes[-1].id),)))
            else:
                nodes.append(Node(node_id, work.pool, blocks=self.blocks))
        return Graph(tuple(nodes))

    def first_rows(self) -> dict[int, int]:
        """The first row of each block."""
        found: dict[int, int] = {}
        row = 0
        for block, rows in self.blocks.items():
            found[block] = row
            row += rows
        return found


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
    """Runs the blocks of a segment that are not committed yet.

    Args:
        segment: What to run.
        worker_pool: The workers of the run; those of an earlier segment work on.
        counts: How many workers of each pool.
        ledger: What is committed.
        directory: Of the run, where parts go.
        limits: The scheduler's numbers.
        stop_after_bad: The run stops when more rows than this were left out; None: never.
        observer: Who is told.
        named: Gives a row that was left out the name that people know it by.
    """

    def __init__(
        self,
        segment: Segment,
        worker_pool: WorkerPool,
        counts: Mapping[str, int],
        ledger: Ledger,
        directory: RunDirectory,
        *,
        limits: Limits | None = None,
        stop_after_bad: int | None = None,
        observer: Observer | None = None,
        named: Callable[[BadRow], BadRow] = lambda bad: bad,
    ) -> None:
        self._segment = segment
        self._workers = worker_pool
        self._counts = counts
        self._ledger = ledger
        self._directory = directory
        self._stop_after_bad = stop_after_bad
        self._observer = observer or Observer()
        self._named = named
        self._first_rows = segment.first_rows()
        self._source: OpenSource | None = None
        self._node_ids = segment.node_ids()
        self._place_of = {node_id: place for place, node_id in enumerate(self._node_ids)}
        done = ledger.done(self._node_ids, segment.blocks)
        self._scheduler = Scheduler(
            segment.graph(),
            limits,
            done={key: {"out": rows} for key, rows in done.items()},
            first_attempt=ledger.next_attempt,
        )
        self._paths: dict[int, str] = {}
        self._failed_starts = self._unfit_tasks = 0
        self._start_again_at = self._made_room_at = 0.0
        # Blocks that are committed, and are told when the run log is on the disk.
        self._unreported: list[dict[str, Any]] = []
        self._report_at = 0.0
        self._last_news = time.monotonic()
        self._has_begun = False
        self._bad = ledger.bad_count

    @property
    def finished(self) -> bool:
        """Whether every block is done."""
        return self._scheduler.finished

    def run(self) -> None:
        """Run until every block is done.

        Raises:
            StoppedError: Something happened that needs a person; everything committed is kept.
        """
        self._begin()
        try:
            while not self.finished:
                self.step(_TICK_SECONDS)
        finally:
            self._report()

    def step(self, timeout: float) -> None:
        """Give workers what they can take, wait for news of them, and handle these.

        Between two calls, nothing is lost: what workers report meanwhile is heard in the next one.

        Args:
            timeout: The longest wait in seconds.

        Raises:
            StoppedError: As `run`.
        """
        self._begin()
        self._start_workers()
        self._hand_out()
        self._make_room()
        # While workers have new tasks already.
        if time.monotonic() >= self._report_at:
            self._report()
        self._handle_events(timeout)
        self._observer.tick()

    def cancel(self) -> None:
        """End the tasks that workers have; everything committed is kept, and `step` would do the rest again."""
        for worker, lease in list(self._workers.leases.items()):
            self._workers.kill(worker)
            self._lost(lease.attempt, Cause.NODE, 0.0, what="cancelled")
        self._report()

    def _begin(self) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        self._refuse_too_many_bad()
        self._last_news = time.monotonic()
        if not self.finished:
            for node_id, work in zip(self._node_ids, self._segment.works, strict=True):
                self._workers.workers.load_work(node_id, work)

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

    def _report(self) -> None:
        """Put what was committed on the disk, and tell of it."""
        untold, self._unreported = self._unreported, []
        started = time.monotonic()
        self._ledger.sync()
        if untold:
            ended = time.monotonic()
            self._report_at = ended + max(_REPORT_SECONDS, _SECONDS_PER_SYNC_SECOND * (ended - started))
        for facts in untold:
            counts_rows = self._work_of(facts["stage"]).poison == "row"
            self._observer.event("block" if counts_rows else "task", facts)

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

    def _hand_out(self) -> None:
        for pool, idle in self._workers.idle.items():
            while idle:
                worker = next(iter(idle))
                lease = self._scheduler.lease(worker, pool, time.monotonic())
                if lease is None:
                    break  # nor is there one for the others of this pool
                self._workers.assign(worker, lease)
                self._workers.workers.submit(worker, self._request(lease))

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
            if pool not in starved and worker not in self._workers.leases and not self._scheduler.waiting(pool)
        ]
        # Those that wait themselves first: they hold nothing.
        useless.sort(key=lambda worker: worker not in self._workers.starting)
        if useless:
            self._observer.event("made room", {"worker": useless[0], "for": starved})
            self._workers.kill(useless[0])

    def _request(self, lease: Lease) -> Request:
        task, segment = lease.task, self._segment
        place = self._place_of[task.node]
        path = self._directory.part_path(task, lease.attempt, segment.works[place].suffix)
        self._paths[lease.attempt] = str(path)
        if place == 0:
            source = segment.source
            first = self._first_rows[task.block] + task.first
            task = replace(task, first=first)
        else:
            source = self._output_of(place - 1, task.block)
        return Request(task.node, source, task, lease.attempt, str(path), lease.is_last_try)

    def _work_of(self, node: str) -> Work:
        return self._segment.works[self._place_of[node]]

    def _output_of(self, place: int, block: int) -> Source:
        """What a work has made of a block."""
        names = self._ledger.parts(self._node_ids[place], block)
        parts = tuple(str(self._directory.parts / name) for name in names)
        is_view = self._segment.works[place].suffix == VIEW_SUFFIX
        base = self._segment.source if is_view else Source()
        return Source(base.base, parts, contents=base.contents, facts=base.facts)

    def _handle(self, event: Event) -> None:
        if isinstance(event, Ready):
            self._workers.mark_idle(event.worker)
            self._failed_starts = 0
            self._observer.event("ready", {"worker": event.worker, **({"node": event.node} if event.node else {})})
        elif isinstance(event, Finished | Failed) and not self._has_lease(event):
            # Such as a second answer to a task.
            self._observer.event("ignored", {"worker": event.worker, "attempt": event.attempt})
        elif isinstance(event, Finished):
            self._finished(event)
        elif isinstance(event, Failed):
            self._workers.mark_idle(event.worker)
            self._observer.event("failed", {"worker": event.worker, "cause": event.cause.value, "what": event.what})
            self._lost(event.attempt, event.cause, event.seconds, what=event.what, operator=event.operator)
        elif isinstance(event, FatalEvent):
            self._fatal(event)
        else:
            self._died(event)

    def _fatal(self, event: FatalEvent) -> None:
        """Stop, unless it was a few rows, and no more than a few such tasks one after another."""
        lease = self._workers.leases.get(event.worker)
        are_few = lease is not None and lease.task.rows < _UNFIT_ROWS
        if not event.operator or lease is None or not are_few or self._unfit_tasks >= _UNFIT_TASKS:
            kind = RepairError if event.needs_repair else StoppedError
            raise kind(f"{event.what} (worker {event.worker}{f' on {event.host}' if event.host else ''})")
        self._unfit_tasks += 1
        self._workers.mark_idle(event.worker)
        self._lost(lease.attempt, Cause.FAILED, 0.0, what=event.what, operator=event.operator)

    def _has_lease(self, event: Finished | Failed) -> bool:
        lease = self._workers.leases.get(event.worker)
        return lease is not None and lease.attempt == event.attempt

    def _finished(self, event: Finished) -> None:
        lease = self._workers.mark_idle(event.worker)
        self._unfit_tasks = 0
        verdict = self._scheduler.receipt(event.attempt, {"out": event.receipt.rows_out}, time.monotonic())
        path = self._paths.pop(event.attempt)
        if not verdict.accepted or lease is None:
            _discard(path)
            return
        self._ledger.commit(lease.task, event.attempt, event.receipt)
        facts = {"stage": lease.task.node, "block": lease.task.block, "rows": lease.task.rows}
        done = {"rows_out": event.receipt.rows_out, "seconds": event.receipt.seconds, "worker": event.worker}
        self._unreported.append({**facts, **done})
        for bad in event.receipt.bad:
            self._left_out(bad)
        self._end_losers(verdict.losers)

    def _end_losers(self, losers: Sequence[Lease]) -> None:
        """Workers whose task is done, or was divided, are freed for other work."""
        for lease in losers:
            if self._workers.leases.get(lease.worker) == lease:
                self._workers.kill(lease.worker)
                _discard(self._paths.pop(lease.attempt))

    def _died(self, event: Died) -> None:
        was_starting, pool = event.worker in self._workers.starting, self._workers.pool_of[event.worker]
        lease = self._workers.remove(event.worker)
        self._observer.event("died", {"worker": event.worker, "cause": event.cause.value, "what": event.what})
        if lease is not None:
            self._lost(lease.attempt, event.cause, 0.0, what=event.what, operator=event.operator)
        elif was_starting and event.cause is not Cause.NODE:
            most = _FAILED_STARTS_FOR_MEMORY if event.cause is Cause.NODE_MEMORY else _FAILED_STARTS
            self._failed_to_start(pool, event, most)

    def _failed_to_start(self, pool: str, event: Died, most: int) -> None:
        delay = min(_START_AGAIN_SECONDS * 2 ** min(self._failed_starts, 20), _MOST_START_AGAIN_SECONDS)
        self._start_again_at = time.monotonic() + delay
        self._failed_starts += 1
        if self._failed_starts >= most and not self._workers.leases and not self._workers.idle.get(pool):
            log = self._directory.work_dir / "workers.log"
            see = f"; see {log}" if log.exists() else ""
            what = f"workers end before their first task ({event.what}){see}"
            if event.cause is Cause.MEMORY:
                raise RepairError(f"{what}; give each more memory (--memory), or use fewer workers (--workers)")
            raise StoppedError(what)

    def _lost(self, attempt: int, cause: Cause, delay: float, *, what: str, operator: str = "") -> None:
        _discard(self._paths.pop(attempt))
        why = f"{cause.value}: {what}" if what else cause.value
        try:
            verdict = self._scheduler.lost(attempt, cause, time.monotonic(), delay=delay)
        except RefusedError:
            raise StoppedError(
                f"a service keeps asking to wait, and no rows are done meanwhile ({what}); see to its quota or its "
                f"load, and run again: the run is resumed"
            ) from None
        if (given_up := verdict.quarantined) is not None:
            work = self._work_of(given_up.task.node)
            if work.poison == "fatal":
                raise StoppedError(f"{work.label}: {why}")
            row, counted = self._input_row(given_up)
            bad = BadRow(row, operator, plain_text(why), counted=counted)
            self._ledger.give_up(given_up.task, bad)
            self._left_out(bad)
        self._end_losers(verdict.losers)

    def _input_row(self, given_up: Quarantined) -> tuple[int, str]:
        """The row of the pipeline's input that a task of one row was about; as `row_of`."""
        task = given_up.task
        place = self._place_of[task.node]
        if place == 0:
            if self._source is None:
                self._source = OpenSource(self._segment.source)
            source, row = self._source, self._first_rows[task.block] + task.first
        else:
            source, row = OpenSource(self._output_of(place - 1, task.block)), task.first
        if source.source.bounds is not None:
            return row, "group"
        opened = source.slice(row, 1)
        return row_of(opened, int(opened.positions(row, 1)[0]))

    def _left_out(self, left_out: BadRow) -> None:
        self._bad += 1
        bad = self._named(left_out)
        facts = {"source": bad.source, "row": bad.row, "operator": bad.operator, "error": bad.error}
        self._observer.event("bad_row", facts)
        self._refuse_too_many_bad(left_out)

    def _refuse_too_many_bad(self, last: BadRow | None = None) -> None:
        if self._stop_after_bad is None or self._bad <= self._stop_after_bad:
            return
        bad = self._named(last or self._ledger.bad_rows()[-1])
        raise TooManyBadRowsError(
            f"{self._bad:,} rows were left out because something failed on them, more than stop_after_bad="
            f"{self._stop_after_bad:,}; the last one: {bad.place}, {bad.operator or 'worker'}: {bad.error}; allow more "
            f"to continue without them, or repair the cause and start over with restart (--restart)"
        )


def _discard(path: str) -> None:
    """Remove what an attempt has written."""
    remove_part(Path(path))
    for made in (signatures_path(Path(path)), crash_note_path(Path(path))):
        made.unlink(missing_ok=True)
