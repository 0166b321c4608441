"""Runs operators on the rows of a task, and writes the resulting part."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jinx_pipeline.model.receipt import PortPart, Receipt
from jinx_pipeline.operators.api.batch import STATS, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.key_exchange import write_keys
from jinx_pipeline.operators.api.keyed import Exchanged, Keyed
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import Grouper
from jinx_pipeline.operators.api.sample_source import MadeSamples
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.plan.stage import Stage, opens
from jinx_pipeline.runlog.part_check import end_of
from jinx_pipeline.runlog.work_dir import lane_path, media_path, port_path, published, signatures_path
from jinx_pipeline.sample.content_identity import ReplacedError
from jinx_pipeline.sample.file_facts import small_file_digest
from jinx_pipeline.sample.media_files import recorded_media
from jinx_pipeline.sample.media_spool import MediaSpool
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.store.mirror import push_part
from jinx_pipeline.worker.operator_chain import Chain, may_edit, raise_if_not_of_rows
from jinx_pipeline.worker.part_writer import PartWriter, RowsWriter, ViewWriter
from jinx_pipeline.worker.work import VIEW_SUFFIX, WorkerState

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class MapWork:
    """Runs a stage on the rows of a task, and writes the remaining rows as a saved view or a directory of samples.

    Attributes:
        stage: The operators.
    """

    stage: Stage

    poison: Literal["row"] = "row"
    label: str = "blocks"

    @property
    def pool(self) -> str:
        """The pool of the stage."""
        return self.stage.pool

    @property
    def suffix(self) -> str:
        """`VIEW_SUFFIX` if the part is a view."""
        return VIEW_SUFFIX if self.stage.output == "view" else ""

    @property
    def operators(self) -> list[Operator]:
        """The operators of the stage."""
        return self.stage.operators

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """See `Work.run`."""
        stage = self.stage
        spool = MediaSpool(path.parent)
        ctx = Context(
            seed=stage.seed,
            device=worker.device,
            threads=stage.threads,
            media_dir=stage.media_dir,
            answers_dir=stage.answers_dir,
            spool=spool,
        )
        with closing(spool):
            return self._run(source, task, path, worker, ctx)

    def _run(self, source: Source, task: Task, path: Path, worker: WorkerState, ctx: Context) -> Receipt:
        started, stage = time.perf_counter(), self.stage
        rows = worker.sources.get(source).slice(task.first, task.rows)
        chain = Chain(stage, ctx, partial(row_of, rows), worker.busy_with)
        lanes = self._lanes(path)
        with ExitStack() as stack, recorded_media() as media:
            writers = [
                stack.enter_context(self._writer(rows, part, chain, stage.of_lane(lane)))
                for lane, part in enumerate(lanes)
            ]
            for batch in _batches(stage, rows, task, chain):
                for lane, output in chain.run(batch):
                    for part, table in _with_tables(stage, output, chain):
                        writers[lane].add(part, table)
            if media:
                # Publishing the part syncs the directory that both are in.
                with published(media_path(path), syncs_folder=False) as file:
                    file.write(json.dumps(media).encode())
            written = [_written(part, writer) for part, writer in zip(lanes, writers, strict=True)]
        ports: dict[str, PortPart] = {}
        for port in stage.ports:
            part = port_path(path, port)
            with self._writer(rows, part, chain, stage) as writer:
                for batch in chain.port_batches[port]:
                    if len(batch):
                        writer.add(batch, None)
                ports[port] = _written(part, writer)
        _refuse_replaced_files(stage)
        for part in self.parts(path):
            push_part(part)
        first, *others = written
        return Receipt(
            part=first.part,
            rows_out=first.rows,
            bytes_out=first.bytes,
            seconds=time.perf_counter() - started,
            bad=chain.bad,
            figures=chain.figures(),
            traces=chain.traces,
            ports=ports,
            media=media_path(path).name if media else None,
            end=first.end,
            lanes=others,
        )

    def parts(self, path: Path) -> list[Path]:
        """All parts that a task may write, given the first one."""
        return [*self._lanes(path), *(port_path(path, port) for port in self.stage.ports)]

    def _lanes(self, path: Path) -> list[Path]:
        """The parts of the port `out`, one for each lane."""
        return [lane_path(path, lane) for lane in range(len(self.stage.paths))]

    def _writer(self, source: OpenSource, path: Path, chain: Chain, stage: Stage) -> PartWriter:
        kind = ViewWriter if stage.output == "view" else RowsWriter
        return kind(stage, source, path, chain, partial(_write_signatures, stage, signatures_path(path)))


def _written(part: Path, writer: PartWriter) -> PortPart:
    """The part that a writer has published now; before it is pushed, because it may be removed here then."""
    result = writer.close()
    if result is None:
        return PortPart(None, 0)
    return PortPart(part.name, result.samples, end_of(part), result.bytes)


def _refuse_replaced_files(stage: Stage) -> None:
    """Refuse a part that may come from another version of a file, such as a word list, than the plan.

    Raises:
        ReplacedError: A file was replaced or edited.
    """
    for path, digest in stage.files.items():
        if small_file_digest(path) != digest:
            raise ReplacedError(path)


def row_of(source: OpenSource, position: int) -> tuple[int, str]:
    """The row of the pipeline's input at a position of a source; or another number, and what it counts."""
    if position < 0:
        return -1, ""
    if source.source.has_parts and not source.source.base:
        return position, "sample"
    return int(source.input_rows(np.array([position]))[0]), ""


def _batches(stage: Stage, source: OpenSource, task: Task, chain: Chain) -> Iterator[Batch]:
    """The rows of a task as batches; for a source with groups, the samples made by the group operator."""
    size = max(stage.batch_rows // task.batch_share, 1)
    if stage.group is not None:
        yield from _grouped(stage, source, task, chain, size)
        return
    for first in range(task.first, task.first + task.rows, size):
        rows = min(size, task.first + task.rows - first)
        positions = source.positions(first, rows)
        batch = Batch(source.samples, positions, stage.roles, ids=source.other_ids(positions))
        yield _with_known_stats(batch.opened() if stage.is_open else batch, stage)


def _with_known_stats(batch: Batch, stage: Stage) -> Batch:
    """The batch with the statistics that the input already has, so that filters do not compute them again."""
    if not stage.known_stats or STATS not in batch.source.column_names:
        return batch
    import pyarrow as pa

    stored = batch.column(STATS)
    for name, digest in stage.known_stats.items():
        values = [stats.get(name) if stats is not None else None for stats in stored]
        batch = batch.with_stats({name: pa.array(values)}, digest)
    return batch


def _grouped(stage: Stage, source: OpenSource, task: Task, chain: Chain, size: int) -> Iterator[Batch]:
    """Batches of the samples that a group operator makes; one or several per group."""
    operator = stage.group
    if operator is None:
        return
    row_of_source = chain.row_of
    samples: list[dict[str, Any]] = []
    numbers: list[int] = []
    last = task.first + task.rows - 1
    for number in range(task.first, last + 1):
        positions = source.group(number)
        group = Batch(source.samples, positions, stage.roles, ids=source.ids(positions))
        if operator.kind == "grouper" or stage.is_open:
            group = group.opened()  # the grouper's keys were found, or all samples lack them
        try:
            new = chain.of_group(operator, group, partial(_samples_of_group, operator, chain.ctx))
            samples += new
            numbers += [number] * len(new)
        except BaseException as error:  # noqa: BLE001 - as in `Chain.attempt`
            raise_if_not_of_rows(error)
            chain.give_up(operator.name, group, error)
        if len(samples) >= size or (samples and number == last):
            chain.row_of = partial(_group_number, numbers)
            made_of_groups = Batch(MadeSamples(samples), roles=stage.roles)
            yield made_of_groups.opened() if opens(operator) else made_of_groups
            chain.row_of = row_of_source
            samples, numbers = [], []


def _samples_of_group(operator: Operator, ctx: Context, group: Batch) -> list[dict[str, Any]]:
    # A grouper has already decided which samples form a group; running it again would divide them.
    made = operator.merged(group) if isinstance(operator, Grouper) else operator.run(group, ctx)
    return made.to_samples()


def _group_number(numbers: list[int], position: int) -> tuple[int, str]:
    """Like `row_of`, for a sample that was made from a group."""
    return numbers[position], "group"


def _with_tables(stage: Stage, batch: Batch, chain: Chain) -> "list[tuple[Batch, pa.Table | None]]":
    """The batch with the keys of its rows if an operator over keys follows; in parts, if this fails for some rows."""
    operator: Any = stage.signatures
    if operator is None:
        return [(batch, None)]
    return chain.attempt(operator.name, batch, lambda part: _signatures(operator, part, chain.ctx))


def _signatures(operator: Keyed, batch: Batch, ctx: Context) -> "pa.Table":
    if may_edit(operator):
        batch = batch.copied(keeps_shared=True)
    # Columns that the input lacks were refused earlier. But a column that a mapper adds may be missing in some samples.
    return operator.checked_signatures(batch.opened() if operator.takes_missing else batch, ctx)


def _write_signatures(stage: Stage, path: Path, tables: "list[pa.Table]") -> None:
    """Write the signatures of a part before the part itself; publishing that also syncs the directory of both."""
    import pyarrow as pa

    operator, table = stage.signatures, pa.concat_tables(tables)
    with published(path, syncs_folder=False) as file:
        if isinstance(operator, Exchanged):
            write_keys(file, operator, table, stage.partitions)
            return
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
