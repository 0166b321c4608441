"""A look at the keys of all rows, as tasks that any engine runs: each takes a share and writes what it finds."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from jinx_pipeline.global_ops.signature_files import SignatureFiles
from jinx_pipeline.model.receipt import OperatorFigures, Receipt
from jinx_pipeline.operators.api.keyed import Divided, Keys
from jinx_pipeline.plan.source import Source
from jinx_pipeline.runlog.work_dir import published, signatures_path
from jinx_pipeline.schedule.task import Task


@dataclass(frozen=True)
class LookTask:
    """What a worker needs to take a share; it has the place of a stage.

    Attributes:
        operator: Whose decision it is.
        number: Its place in the recipe.
        shares: How many tasks there are.
        other: Parts of the dataset that a join adds; their keys are next to them.
        pool: The kind of worker.
        output: A file of the operator's own.
    """

    operator: Divided
    number: int
    shares: int
    other: tuple[str, ...] = ()
    pool: str = "cpu"
    output: str = "file"


def keys_of(parts: tuple[str, ...], other: tuple[str, ...] = (), memory: int | None = None) -> Keys:
    """The keys that tasks wrote next to their parts; temporary files go where the parts are."""
    mine, others = ([signatures_path(Path(part)) for part in some] for some in (parts, other))
    folder = str(mine[0].parent) if mine else "."
    return Keys(SignatureFiles(mine), folder, SignatureFiles(others), memory)


def run_look(
    phase: LookTask, source: Source, task: Task, path: Path, *, busy_with: Callable[[str, int], None] = lambda *_: None
) -> Receipt:
    """Take the share that a task names and write what is found in it."""
    started, cpu = time.perf_counter(), time.process_time()
    operator = phase.operator
    busy_with(operator.name, 0)
    found = operator.look(keys_of(source.part_paths(), phase.other), task.first, phase.shares)
    size = _write(path, found)
    seconds = time.perf_counter() - started
    figures: dict[str, Any] = {"rows_in": 0, "rows_out": 0, "seconds": seconds, "peak_bytes": 0}
    one = OperatorFigures(operator.name, phase.number, cpu_seconds=time.process_time() - cpu, **figures)
    return Receipt(path.name, 1, size, seconds, figures=[one])


def _write(path: Path, table: pa.Table) -> int:
    with published(path) as file:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        return file.tell()
