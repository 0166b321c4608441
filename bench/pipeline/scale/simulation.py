"""A run whose workers are simulated, and whose driver, scheduler and log are the real ones."""

import heapq
import random
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from jinx_pipeline.engines.driver import Driver, Observer
from jinx_pipeline.engines.worker_backend import Died, Event, Finished, Ready, Request
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.execute.streams import StreamTable
from jinx_pipeline.model.receipt import BadRow, OperatorFigures, Receipt
from jinx_pipeline.plan.graph import PlanGraph, PlanNode
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan.source_rows import SourceRows
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.report.progress import Progress
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.runlog.run_log import RunLog
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.graph import Stream
from jinx_pipeline.schedule.task import Cause
from jinx_pipeline.worker.map_work import MapWork

# 10 TB in rows of 10 kB, and 64 MB a block.
BLOCK_ROWS = 6400
# A task takes 5 s, give or take a half: a block of text takes ten operators about that long on a slow core.
TASK_SECONDS, SPREAD = 5.0, 0.5
# What happens within this time reaches the driver together.
WAKE_SECONDS = 0.01
# One task in so many loses its worker, and one has a row that something fails on.
TASKS_PER_DEATH, TASKS_PER_BAD_ROW = 1000, 100
OPERATORS = 10
_OPERATOR = "word_repetition_filter"


@dataclass(frozen=True, slots=True)
class Size:
    """How large a run is.

    Attributes:
        blocks: Blocks of the input.
        workers: Workers.
    """

    blocks: int
    workers: int

    @property
    def rows(self) -> int:
        """Samples of the input."""
        return self.blocks * BLOCK_ROWS

    def divided(self, by: int) -> "Size":
        """A smaller size of the same shape."""
        return Size(max(self.blocks // by, 1), max(self.workers // by, 1))


class SimulatedWorkers:
    """Workers on a clock of their own, which jumps to the next event: the driver never waits for them.

    Attributes:
        may_lack_room: As on a cluster.
        requests: How many tasks they were given.
        first_request: The first of them.
    """

    may_lack_room = True

    def __init__(self) -> None:
        self.requests = 0
        self.first_request: Request | None = None
        self._dice = random.Random(0)
        self._numbers = count()
        self._now = 0.0
        self._starting: list[str] = []
        # When tasks end, when each worker has ended the last of its tasks, and their numbers: others were ended early.
        self._ends: list[tuple[float, int, str, Request]] = []
        self._free_at: dict[str, float] = {}
        self._tasks: dict[str, set[int]] = {}

    def start(self, pool: str) -> str:
        """Start a worker; it is ready at once."""
        worker = f"{pool}-{next(self._numbers)}"
        self._starting.append(worker)
        return worker

    def load_work(self, key: str, work: object) -> None:
        """Nothing is computed."""

    def submit(self, worker: str, request: Request) -> None:
        """Give a worker a task."""
        self.first_request = self.first_request or request
        self.requests += 1
        begin = max(self._free_at.get(worker, 0.0), self._now)
        self._free_at[worker] = end = begin + TASK_SECONDS * self._dice.uniform(1 - SPREAD, 1 + SPREAD)
        self._tasks.setdefault(worker, set()).add(self.requests)
        heapq.heappush(self._ends, (end, self.requests, worker, request))

    def takes_ahead(self, worker: str) -> bool:
        """Whether it may be sent its next task."""
        del worker
        return True

    def stop(self, worker: str, attempt: int) -> None:
        """Every task ends by itself."""

    def events(self, timeout: float) -> list[Event]:
        """What comes next on the clock of the workers; waits only if nothing does."""
        news: list[Event] = [Ready(worker, "node") for worker in self._starting]
        self._starting.clear()
        while self._ends and not news:
            self._now = self._ends[0][0] + WAKE_SECONDS
            while self._ends and self._ends[0][0] <= self._now:
                _, number, worker, request = heapq.heappop(self._ends)
                if number in self._tasks.get(worker, ()):
                    self._tasks[worker].remove(number)
                    news.append(self._end(number, worker, request))
        if not news:
            time.sleep(timeout)
        return news

    def busy_with(self, worker: str) -> str:
        """The operator that a worker is busy with."""
        return _OPERATOR if self._tasks.get(worker) else ""

    def kill(self, worker: str) -> None:
        """End a worker."""
        self._tasks.pop(worker, None)

    def close(self) -> None:
        """There is nothing to close."""

    def _end(self, number: int, worker: str, request: Request) -> Event:
        if number % TASKS_PER_DEATH == 0:
            self.kill(worker)
            return Died(worker, Cause.NODE, "the node was lost")
        return Finished(worker, request.attempt, _receipt(number, request))


def _receipt(number: int, request: Request) -> Receipt:
    """A receipt as large as those of a recipe of ten operators."""
    rows = request.task.rows
    figures = [OperatorFigures(_OPERATOR, place, rows, rows, 0.4312, 0.4107, 312_475_648) for place in range(OPERATORS)]
    bad: list[BadRow] = []
    if number % TASKS_PER_BAD_ROW == 0:
        error = "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 0: invalid start byte"
        bad = [BadRow(request.task.first, _OPERATOR, error, trace=error * 4)]
    return Receipt(request.path.rpartition("/")[2], rows - len(bad), 10_000 * rows, TASK_SECONDS, bad, figures)


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """A run in its directory.

    Attributes:
        directory: Its directory.
        ledger: What is committed.
        progress: Writes the events, as in a real run.
    """

    directory: RunDirectory
    ledger: Ledger
    progress: Progress

    def driver(self, size: Size, workers: SimulatedWorkers, *, source: Source | None = None, nodes: int = 1) -> Driver:
        """A driver as `Executor` makes it.

        Args:
            size: Blocks to run, and workers to run them.
            workers: The workers.
            source: What the first node reads.
            nodes: The length of the chain.
        """
        planned = [PlanNode("source-0a1b2c3d4e5f", "source")]
        for number in range(nodes):
            reads = (Stream(planned[-1].id),)
            planned.append(PlanNode(f"{_OPERATOR}-{number:012x}", "map", reads, pool="cpu"))
        graph = PlanGraph(tuple(planned))
        streams = StreamTable(graph, self.ledger, SourceRows(()))
        driver = Driver(
            graph.scheduled(),
            streams,
            WorkerPool(workers),
            {"cpu": size.workers},
            self.ledger,
            stop_after_bad=size.rows,
            observer=Observer(self.progress.event, self.progress.tick),
        )
        blocks = dict.fromkeys(range(size.blocks), BLOCK_ROWS)
        streams.add(planned[0], source or Source(("in",)), blocks)
        work = MapWork(Stage([], [], Roles(), output="view"))
        driver.begin(planned[0].id, blocks, {node.id: work for node in planned[1:]})
        return driver


@contextmanager
def opened_run(folder: Path | str) -> Generator[SimulatedRun]:
    """A new run, or the one that an earlier call left."""
    with WorkDir(folder) as work_dir:
        directory = work_dir.current()
        if directory is None:
            with work_dir.new_run() as directory:
                RunLog.create(directory.log, directory.run, {})
        with Ledger(directory) as ledger, work_dir.events_path.open("a", encoding="utf-8") as events:
            ledger.claim()
            yield SimulatedRun(directory, ledger, Progress("none", 0, events))
