"""Graphs of recipes that are made in Python, run on worker processes of this machine."""

import io
import os
import signal
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import jinx
import jinx_pipeline as jp
from jinx_pipeline.annotation.wait import People
from jinx_pipeline.engines.local.room import Room
from jinx_pipeline.engines.local.worker_processes import LocalWorkers, Reserve
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.execute.executor import Executor, Job
from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.plan.inputs import find_inputs
from jinx_pipeline.plan.planner import make_plan, pools_of_plan, writer_options
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.publish.outputs import write_output
from jinx_pipeline.recipe.model import Export, Options, Output, Recipe, SourceSpec, Step, StepPort
from jinx_pipeline.report.progress import Progress
from jinx_pipeline.run_plan import plan_of
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_log import RunLog
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.worker.work import Tasks

SOURCES = StepPort(None)


def refuse(source, target, rejects):
    """As a conversion: the inputs are datasets."""
    raise AssertionError(source)


def write_data(path: Path, rows: int = 60) -> Path:
    """Rows with a number and a text of so many words, of which every sixth has a link."""
    with jinx.Writer(path) as writer:
        for n in range(rows):
            link = " https://example.org/x" if n % 6 == 0 else ""
            writer.write({"n": n, "text": " ".join(["word"] * (n % 5 + 1)) + link})
    return path


def words(least, inputs=None):
    return Step(jp.create("words_num_filter", min_num=least), inputs=inputs)


def step(operator, *inputs):
    return Step(operator if not isinstance(operator, str) else jp.create(operator), inputs=inputs or None)


def recipe(data, steps, outputs=(), **options):
    options = Options(**{"block_rows": 7, "reorder": False, **options})
    export = Export("out.jinx", keep_stats=False)
    return Recipe(
        (SourceSpec(str(data)),), Roles(), tuple(steps), export, options=options, outputs=tuple(map(Output, outputs))
    )


@dataclass(frozen=True)
class CountWork:
    """A work that leaves a file for each of its tasks."""

    seen: str
    pool: str = "cpu"
    poison: Literal["fatal"] = "fatal"
    suffix: str = ""
    label: str = "the output"

    def run(self, source, task, path, worker):
        Path(f"{self.seen}.{task.block}").touch()
        return Receipt(None, 0)


class CountedOutputs:
    """Joins nothing and packs two tasks; remembers what was committed."""

    def __init__(self, seen: Path, generation: int = 0) -> None:
        self.seen, self.generations = seen, [generation]
        self.committed_blocks: list[tuple[str, int]] = []

    def tasks(self, node, blocks):
        return Tasks(CountWork(str(self.seen)), {3: 1, 5: 1}) if node.kind == "pack" else Tasks()

    def committed(self, node, block):
        self.committed_blocks.append((node.kind, block))


class GraphRun:
    """A run of a graph in a directory; made again, it is resumed.

    Attributes:
        events: Each event that was told, as its kind and facts.
    """

    def __init__(self, what: Recipe, folder: Path, *, workers: int = 1, outputs=None) -> None:
        self.recipe, self.folder, self.workers, self.outputs = what, folder, workers, outputs
        self.events: list[tuple[str, dict]] = []

    def run(self, *, kills: int = 0, stop_after: int | None = None) -> bool:
        """Run it; returns whether it has finished.

        Args:
            kills: How many workers are killed, each after two more blocks were committed.
            stop_after: Stop after so many committed blocks.
        """
        with WorkDir(self.folder) as work_dir:
            directory = work_dir.current()
            inputs = find_inputs(self.recipe, work_dir.inputs, refuse)
            if directory is None:
                with work_dir.new_run() as directory:
                    plan = make_plan(self.recipe, inputs, inputs[0].rows)
                    RunLog.create(directory.log, directory.run, plan.to_dict())
            with Ledger(directory) as ledger:
                ledger.claim()
                backend = LocalWorkers(
                    self.folder / "workers.log",
                    pools=pools_of_plan(self.recipe, plan_of(ledger)),
                    reserve=Reserve(Room((), 10**9)),
                )
                progress = Progress("none", 0, io.StringIO())
                progress.event = self._told
                try:
                    people = People(work_dir.annotations)
                    job = Job(
                        self.recipe, plan_of(ledger), inputs, ledger, work_dir.answers, people, outputs=self.outputs
                    )
                    executor = Executor(job, WorkerPool(backend), {"cpu": self.workers}, progress)
                    while not executor.finished:
                        executor.step(0.05)
                        if stop_after is not None and len(self.done) >= stop_after:
                            executor.cancel()
                            return False
                        if kills and len(self.done) >= 2 * (1 + self._killed) and backend.pids():
                            os.kill(next(iter(backend.pids().values())), signal.SIGKILL)
                            self._killed += 1
                            kills -= 1
                    executor.run()
                finally:
                    backend.close()
        return True

    _killed = 0

    def _told(self, kind, facts):
        self.events.append((kind, facts))

    @property
    def done(self) -> list[dict]:
        """The blocks that were committed and told of."""
        return [facts for kind, facts in self.events if kind == "block"]

    def tasks(self) -> Counter[str]:
        """How many tasks of each operator were committed, by the readable part of the ids of their nodes."""
        return Counter(facts["node"].rpartition("-")[0] for facts in self.done)

    def write(self, folder: Path) -> list[Path]:
        """The outputs as files."""
        folder.mkdir(parents=True, exist_ok=True)
        with WorkDir(self.folder) as work_dir:
            ledger = Ledger(work_dir.current())
            plan, parts = plan_of(ledger), ledger.directory.parts
            outputs = []
            for number, node in enumerate(plan.graph.outputs()):
                blocks = [[parts / name for name in ledger.parts(node.id, block)] for block in range(100)]
                export = replace(self.recipe.export, path=str(folder / f"{number}.jinx"))
                base = tuple(plan.paths) if node.has_base else ()
                source = OpenSource(Source(base, tuple(str(part) for block in blocks for part in block)))
                write_output(export, folder, source, writer_options(self.recipe, export, {}))
                outputs.append(folder / f"{number}.jinx")
        return outputs


def numbers(path: Path) -> list[int]:
    """The numbers of the rows of an output."""
    return [row["n"] for row in jinx.open(path).to_list()]
