"""The probe: runs each operator on a few rows, and measures time and memory."""

import faulthandler
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from jinx._malloc import give_freed_memory_back
from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.plan.probe import PROBE_ROWS, Findings, Measured, findings_from
from jinx_pipeline.plan.source import Source
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.worker.operator_chain import resident_bytes
from jinx_pipeline.worker.periodic_call import calling_every
from jinx_pipeline.worker.work import WorkerState

# The approximate maximum time for measuring an operator, in seconds.
_SECONDS = 0.1
_LOOK_SECONDS = 0.002
# The share of a worker's memory for the rows of one operator.
_SHARE_OF_MEMORY = 0.25


class _OfflineContext(Context):
    """Refuses requests to services: they cost money, and their time says nothing about this machine."""

    def refuse_offline(self, url: str) -> None:
        raise PermissionError(f"the probe does not ask {url}")


@dataclass(frozen=True)
class ProbeWork:
    """Runs operators on a few rows, one after another, and measures them.

    `read_findings` reads the results, also while the probe runs and after its process has died. An operator that fails
    on the rows has no result: the run will report the row. An operator that takes too long ends this process.

    Attributes:
        operators: The operators, in the order of the recipe.
        numbers: The place of each in the recipe.
        roles: The columns of texts and media.
        memory: Bytes that the worker may use; None for no limit.
        seed: The seed of the run, which also chooses the rows.
        threads: Threads of one worker.
        seconds: The time limit of an operator; exceeding it ends the worker.
        pool: The pool of the workers that run it.
    """

    operators: list[Operator]
    numbers: list[int]
    roles: Roles
    memory: int | None
    seed: int
    threads: int
    seconds: float
    pool: str

    poison: Literal["row"] = "row"
    suffix: str = ""
    label: str = "probe"

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """See `Work.run`; `busy_with` is called with the place of each operator in the recipe."""
        del task  # rows are chosen from all tasks
        rows = worker.sources.get(source)
        start = resident_bytes()
        count = min(PROBE_ROWS, len(rows))
        chosen = np.sort(np.random.default_rng(self.seed).choice(len(rows), size=count, replace=False))
        positions = np.concatenate([rows.positions(int(row), 1) for row in chosen])
        batch = Batch(rows.dataset, positions, self.roles, ids=rows.ids(positions))
        ctx = _OfflineContext(seed=self.seed, device=worker.device, threads=self.threads)
        try:
            for number, operator in zip(self.numbers, self.operators, strict=True):
                worker.busy_with(str(number), 0)
                faulthandler.dump_traceback_later(self.seconds, exit=True, file=2)
                try:
                    output, measured = _measured(operator, batch, ctx, self.memory)
                except (Exception, SystemExit, KeyboardInterrupt):  # noqa: BLE001, S112 - as in `Chain.attempt`
                    continue
                _add(path, Findings({number: measured}, start))
                if len(output):
                    batch = output
        finally:
            faulthandler.cancel_dump_traceback_later()
        return Receipt(part=path.name, rows_out=1)


def _add(path: Path, findings: Findings) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(findings)) + "\n")


def read_findings(path: Path) -> Findings:
    """The findings of a probe so far; empty if there is no part."""
    lines, _, _ = path.read_text("utf-8").rpartition("\n") if path.exists() else ("", "", "")
    records = [findings_from(json.loads(line)) for line in lines.splitlines()]
    operators = {place: measured for findings in records for place, measured in findings.operators.items()}
    return Findings(operators, max((findings.start_bytes for findings in records), default=0))


def _measured(operator: Operator, batch: Batch, ctx: Context, memory: int | None) -> tuple[Batch, Measured]:
    """The output of an operator for as many rows as time and memory allow, and the measurements."""
    # Do not share values such as decoded images, so that they count for each operator that uses them.
    batch, first_row = batch.forgotten(), batch.take([0]).forgotten()
    give_freed_memory_back()
    before = resident_bytes()
    operator.mark(first_row, ctx)  # imports packages and loads models
    held = max(resident_bytes() - before, 0)
    seconds, row_bytes, _ = _timed(operator, first_row.forgotten(), ctx)
    max_rows = _SECONDS / max(seconds, 1e-9)
    if memory is not None and row_bytes:
        max_rows = min(max_rows, memory * _SHARE_OF_MEMORY / row_bytes)
    rows = min(max(int(max_rows), 1), len(batch))
    seconds, used, output = _timed(operator, batch.take(range(rows)), ctx)
    return output.forgotten(), Measured(round(rows / max(seconds, 1e-9), 1), used // rows, held)


def _timed(operator: Operator, batch: Batch, ctx: Context) -> tuple[float, int, Batch]:
    """The time in seconds, the peak of additional memory, and the output of an operator."""
    give_freed_memory_back()
    before = peak = resident_bytes()

    def look() -> None:
        nonlocal peak
        peak = max(peak, resident_bytes())

    with calling_every(look, _LOOK_SECONDS):
        started = time.perf_counter()
        output = operator.mark(batch, ctx)
        seconds = time.perf_counter() - started
    return seconds, peak - before, output
