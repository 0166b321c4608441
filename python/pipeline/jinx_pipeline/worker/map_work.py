"""The work of operators on rows: from the rows of a source to a part and a receipt."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jinx.errors import JinxError
from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.operators.api.batch import STATS, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.key_exchange import write_keys
from jinx_pipeline.operators.api.keyed import Exchanged
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.runlog.work_dir import published, remove_part, signatures_path
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.worker.operator_chain import Chain, raise_if_not_of_rows
from jinx_pipeline.worker.part_writer import PartWriter
from jinx_pipeline.worker.work import VIEW_SUFFIX, WorkerState

if TYPE_CHECKING:
    import pyarrow as pa

# In place of an operator's name.
WRITING = "writing the output"


@dataclass(frozen=True)
class MapWork:
    """Runs a stage on the rows of a task, and writes what remains: a saved view, or a directory of samples.

    Attributes:
        stage: The operators.
    """

    stage: Stage

    poison: Literal["row"] = "row"
    label: str = "blocks"

    @property
    def pool(self) -> str:
        """That of the stage."""
        return self.stage.pool

    @property
    def suffix(self) -> str:
        """Of a file, where the part is a view."""
        return VIEW_SUFFIX if self.stage.output == "view" else ""

    @property
    def operators(self) -> list[Operator]:
        """Those of the stage."""
        return self.stage.operators

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """As `Work.run`."""
        started = time.perf_counter()
        stage = self.stage
        ctx = Context(
            seed=stage.seed,
            device=worker.device,
            threads=stage.threads,
            media_dir=stage.media_dir,
            answers_dir=stage.answers_dir,
        )
        rows = worker.sources.get(source).slice(task.first, task.rows)
        chain = Chain(stage, ctx, partial(row_of, rows), worker.busy_with)
        done: list[Batch] = []
        for batch in _batches(stage, rows, task, chain):
            done += chain.run(batch)
        chain.begins(WRITING)
        written = _finish(PartWriter(stage, rows), stage, path, done, chain)
        rows_out = written.samples if written is not None else 0
        return Receipt(
            part=path.name if rows_out else None,
            rows_out=rows_out,
            bytes_out=written.bytes if written is not None else 0,
            seconds=time.perf_counter() - started,
            bad=chain.bad,
            figures=chain.figures(),
            traces=chain.traces,
        )


def row_of(source: OpenSource, position: int) -> tuple[int, str]:
    """The row of the pipeline's input that lies at a position of a source, or its number there and what that counts."""
    if position < 0:
        return -1, ""
    if source.source.has_parts and not source.source.base:
        return position, "sample"
    return int(source.input_rows(np.array([position]))[0]), ""


def _batches(stage: Stage, source: OpenSource, task: Task, chain: Chain) -> Iterator[Batch]:
    """The rows of a task as batches; of a source with groups, what the group operator makes of them."""
    size = max(stage.batch_rows // task.batch_share, 1)
    if stage.group is not None:
        yield from _grouped(stage, source, task, chain)
        return
    for first in range(task.first, task.first + task.rows, size):
        rows = min(size, task.first + task.rows - first)
        positions = source.positions(first, rows)
        batch = Batch(source.samples, positions, stage.roles, ids=source.other_ids(positions))
        yield _with_known_stats(batch, stage)


def _with_known_stats(batch: Batch, stage: Stage) -> Batch:
    """Statistics that the input has, so that filters do not compute them again."""
    if not stage.known_stats or STATS not in batch.source.column_names:
        return batch
    import pyarrow as pa

    stored = batch.column(STATS)
    for name, digest in stage.known_stats.items():
        values = [one.get(name) if one is not None else None for one in stored]
        batch = batch.with_stats({name: pa.array(values)}, digest)
    return batch


def _grouped(stage: Stage, source: OpenSource, task: Task, chain: Chain) -> Iterator[Batch]:
    """One sample for each group."""
    operator = stage.group
    if operator is None:
        return
    made: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number in range(task.first, task.first + task.rows):
        positions = source.group(number)
        group = Batch(source.samples, positions, stage.roles, ids=source.ids(positions))
        try:
            samples = chain.answered(operator.name, group, lambda one: operator.run(one, chain.ctx).to_samples())
            made += samples
            numbers += [number] * len(samples)
        except BaseException as error:  # noqa: BLE001 - as in `Chain.attempt`
            raise_if_not_of_rows(error)
            chain.give_up(operator.name, group, error)
    if made:
        chain.row_of = lambda position: (numbers[position], "group")
        yield Batch(made, roles=stage.roles)


def _finish(output: PartWriter, stage: Stage, path: Path, batches: list[Batch], chain: Chain) -> Any:
    """Write the rows, and their signatures if a deduplicator follows; both are of the same rows."""
    operator: Any = stage.signatures
    while True:
        tables: list[pa.Table] = []
        if operator is not None:
            found = [
                one
                for batch in batches
                for one in chain.attempt(
                    operator.name, batch, lambda part: operator.checked_signatures(part, chain.ctx)
                )
            ]
            batches, tables = [batch for batch, _ in found], [table for _, table in found]
        if tables:
            _write_signatures(signatures_path(path), operator, tables, stage.partitions)
        written, kept = _write(output, stage, path, batches, chain)
        if operator is None or sum(map(len, kept)) == sum(map(len, batches)):
            return written
        batches = kept


def _write_signatures(path: Path, operator: Any, tables: "list[pa.Table]", partitions: int) -> None:
    """Write the signatures of a part that comes next: it is published in the same directory, which is synced then."""
    import pyarrow as pa

    table = pa.concat_tables(tables)
    with published(path, syncs_folder=False) as file:
        if isinstance(operator, Exchanged):
            write_keys(file, operator, table, partitions)
            return
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


def _write(output: PartWriter, stage: Stage, path: Path, batches: list[Batch], chain: Chain) -> tuple[Any, list[Batch]]:
    """Write the rows; those that cannot be read or stored are left out, and no other. Returns those that remain."""
    write = output.write_view if stage.output == "view" else output.write_rows
    while batches:
        try:
            return write(path, batches), batches
        except (JinxError, ValueError, TypeError, OverflowError) as error:
            before = len(chain.bad)
            batches = _writable(write, path.with_name(f"{path.stem}.trial{path.suffix}"), batches, chain)
            if len(chain.bad) == before:
                raise error from None
    return None, []


def _writable(write: Any, trial: Path, batches: list[Batch], chain: Chain) -> list[Batch]:
    """What can be written, tried in a file that is removed again."""
    found = [part for batch in batches for part, _ in chain.attempt(WRITING, batch, lambda one: write(trial, [one]))]
    remove_part(trial)
    return found
