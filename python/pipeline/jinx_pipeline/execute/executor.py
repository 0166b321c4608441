"""Runs the graph of a plan: one driver for its tasks, and the decisions between them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import jinx
from jinx_pipeline.annotation.wait import People
from jinx_pipeline.engines.driver import TICK_SECONDS, Driver, Observer, RepairError
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.execute.streams import StreamTable
from jinx_pipeline.global_ops.decisions import Decisions, publish_order
from jinx_pipeline.global_ops.key_tasks import KeyTasks
from jinx_pipeline.global_ops.key_work import KeyWork
from jinx_pipeline.model.receipt import PortPart
from jinx_pipeline.operators.api.gather import Gather
from jinx_pipeline.operators.api.keyed import Keys, Partitioned
from jinx_pipeline.plan.blocks import SampleSize, block_size, cut, cut_groups
from jinx_pipeline.plan.graph import WRITERS, Kind, PlanNode
from jinx_pipeline.plan.inputs import Input
from jinx_pipeline.plan.manifest import write_manifest
from jinx_pipeline.plan.mixture import mixture_order
from jinx_pipeline.plan.planner import Plan, stage_of
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.plan.source_rows import SourceRows
from jinx_pipeline.publish.pack_work import ExportWork
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.model import Recipe, SourceSpec
from jinx_pipeline.report.progress import Progress
from jinx_pipeline.run_plan import refuse_other_recipe, refuse_rows_in_tables
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Partitions
from jinx_pipeline.runlog.run_log import START_OVER, RunLogError
from jinx_pipeline.runlog.work_dir import published
from jinx_pipeline.sample.content_identity import content_digest
from jinx_pipeline.schedule.graph import Stream
from jinx_pipeline.schedule.task import Limits
from jinx_pipeline.worker.map_work import MapWork
from jinx_pipeline.worker.work import Tasks, Work

if TYPE_CHECKING:
    from jinx_pipeline.model.receipt import BadRow


class Outputs(Protocol):
    """Writes the outputs when their rows are complete."""

    @property
    def generations(self) -> Sequence[int]:
        """How many times each output was already written."""
        ...

    def tasks(self, node: PlanNode, blocks: int) -> Tasks:
        """The tasks of a `join` or `pack` node, whose predecessors are complete.

        Args:
            node: The node.
            blocks: How many blocks the rows of the output have.
        """
        ...

    def committed(self, node: PlanNode, block: int) -> None:
        """Record that a task of a `join` or `pack` node is committed and on disk."""
        ...


@dataclass(frozen=True)
class Job:
    """A recipe with all that is needed to run it.

    Attributes:
        recipe: The recipe.
        plan: Its plan.
        inputs: The opened inputs.
        ledger: What the run has committed and decided.
        answers: The directory for answers of models behind URLs.
        people: Where people answer.
        first_block: The first block of the sources that is in no output yet.
        outputs: Gives the tasks of nodes that write outputs; None: these nodes have no tasks.
    """

    recipe: Recipe
    plan: Plan
    inputs: Sequence[Input]
    ledger: Ledger
    answers: Path
    people: People
    first_block: int = 0
    outputs: Outputs | None = None


class Executor:
    """Runs a plan: each node begins when its inputs are complete. Work that an earlier run committed is not repeated.

    Args:
        job: The recipe and its plan.
        worker_pool: The workers.
        counts: The maximum number of workers of each pool.
        progress: Reports events to the user.
        limits: Limits of the scheduler.
        memory: Bytes that a task may use; None for no limit.

    Raises:
        GraphError: The nodes of the plan do not fit together.
        RunLogError: The log has a record of a node that is not in the plan.
    """

    def __init__(
        self,
        job: Job,
        worker_pool: WorkerPool,
        counts: Mapping[str, int],
        progress: Progress,
        *,
        limits: Limits | None = None,
        memory: int | None = None,
    ) -> None:
        self._job = job
        self._progress = progress
        graph = job.plan.graph
        if job.outputs is not None:
            graph = graph.of_generations(job.outputs.generations)
        self._graph = graph
        self._ledger = job.ledger
        if unknown := [node for node in job.ledger.nodes() if not job.plan.graph.has(node)]:
            raise RunLogError(f"{job.ledger.directory.log.name}: the plan has no node {unknown[0]}; {START_OVER}")
        self._streams = StreamTable(graph, job.ledger, SourceRows(job.inputs))
        self._driver = Driver(
            graph.scheduled(),
            self._streams,
            worker_pool,
            counts,
            job.ledger,
            limits=limits,
            stop_after_bad=job.recipe.options.stop_after_bad,
            observer=Observer(self._tell, progress.tick),
        )
        self._decisions = Decisions(job.recipe, job.ledger, memory, job.people, self._discard_after)
        self._key_tasks: dict[int, KeyTasks] = {}
        self._keys: dict[int, Keys] = {}
        # The operators whose keys are being computed, and the operators whose other dataset the run has written.
        self._keyed: set[int] = set()
        self._stored: set[int] = set()
        self._has_begun = False
        # For each node, the number of nodes that it waits for, and the nodes that wait for it.
        predecessors = {node.id: {stream.node for stream in node.after} for node in graph.nodes}
        self._missing = Counter({node_id: len(ids) for node_id, ids in predecessors.items()})
        self._followers = {
            node.id: [follower for follower in graph.nodes if node.id in predecessors[follower.id]]
            for node in graph.nodes
        }

    @property
    def finished(self) -> bool:
        """Whether every node is finished."""
        return self._driver.finished

    def run(self) -> None:
        """Run until every node is finished.

        Raises:
            StoppedError: The run needs attention; everything committed is kept.
        """
        try:
            while not self.finished:
                self.step(TICK_SECONDS)
        finally:
            self._driver.report()

    def step(self, timeout: float) -> None:
        """Begin the nodes whose inputs are complete; then call `Driver.step`.

        Args:
            timeout: The longest wait in seconds.

        Raises:
            StoppedError: As `run`.
        """
        if not self._has_begun:
            self._has_begun = True
            self._begin_sources()
        while finished := self._driver.take_finished():
            # The results of a node are on disk and reported before other nodes use them.
            self._driver.report()
            for node in finished:
                self._begin_followers(self._graph[node])
        if not self.finished:
            self._driver.step(timeout)

    def cancel(self) -> None:
        """End the running tasks; everything committed is kept, and `step` would run the other tasks again."""
        self._driver.cancel()

    def blocks(self, node: str) -> Mapping[int, int]:
        """The blocks of a node of operators, by block number: the number of rows with which each begins."""
        return self._streams.blocks(node)

    # Methods that are called when a node is finished.

    def _begin_followers(self, node: PlanNode) -> None:
        if node.kind == "map" and node.of_other:
            self._refuse_bad_rows_of_other(node)
        begin = {
            "merge": self._begin_merge,
            "look": self._begin_look,
            "decide": self._begin_decision,
            "gather": self._begin_gather,
            "store": self._begin_store,
            "source": self._begin_stored,
            "join": self._begin_output,
            "pack": self._begin_output,
        }
        for follower in self._followers[node.id]:
            self._missing[follower.id] -= 1
            # The scheduler begins the blocks of nodes that only follow others.
            if not self._missing[follower.id] and follower.kind in begin:
                begin[follower.kind](follower)

    def _begin_sources(self) -> None:
        """Begin the sources of the recipe. Their groups share one numbering of blocks."""
        plan, directory = self._job.plan, self._ledger.directory
        order, facts = (None if name is None else str(directory.decisions / name) for name in (plan.order, plan.facts))
        inputs = self._job.inputs
        paths, contents = tuple(source.path for source in inputs), tuple(source.content for source in inputs)
        source = Source(paths, order=order, contents=contents, facts=facts)
        ends = list(accumulate(plan.group_blocks or (len(plan.blocks),)))
        for node, first, end in zip(self._graph.sources, [0, *ends], ends, strict=False):
            rows = [count if first <= block < end else 0 for block, count in enumerate(plan.blocks)]
            self._begin_blocks(node, source, rows, first_row=sum(plan.blocks[:first]))

    def _begin_blocks(self, node: PlanNode, source: Source, rows: Sequence[int], *, first_row: int = 0) -> None:
        """Begin the nodes that read a source or decision, whose blocks are known now."""
        # Files with operators may have been edited while other nodes ran.
        refuse_other_recipe(self._job.recipe, self._job.plan, self._ledger.directory.work_dir)
        blocks = dict(enumerate(rows))
        self._streams.add(node, source, blocks, first_row)
        readers = self._graph.readers(node.id)
        works: dict[str, Work] = {reader.id: self._map_work(node, reader, sum(rows)) for reader in readers}
        self._tell_blocks(node, readers, blocks)
        self._driver.begin(node.id, blocks, works)
        for reader in readers:
            if reader.keys_of is not None:
                self._begin_other_after(reader.keys_of, self._keyed)

    def _map_work(self, origin: PlanNode, node: PlanNode, rows: int) -> MapWork:
        job = self._job
        edits = str(self._decisions.edits_path(origin.id))
        stage = replace(stage_of(job.recipe, node, edits=edits, meta=job.plan.meta), answers_dir=str(job.answers))
        if node.keys_of is not None:
            stage = replace(stage, partitions=self._decisions.settled(node.id, node.keys_of, rows).count)
        return MapWork(stage)

    def _tell_blocks(self, origin: PlanNode, readers: Sequence[PlanNode], blocks: Mapping[int, int]) -> None:
        steps = [*self._graph.sources, *self._graph.barriers()]
        # A decision renumbers the blocks.
        first = self._job.first_block if len(steps) == 1 else 0
        reads = {stream.node for reader in readers for stream in reader.reads}
        self._progress.blocks(
            steps.index(origin),
            len(steps),
            {block: rows for block, rows in blocks.items() if rows and block >= first},
            begin={reader.id for reader in readers if reader.reads[0].node == origin.id},
            end={reader.id for reader in readers if reader.id not in reads},
        )

    # Methods for the dataset that a join adds.

    def _begin_other_after(self, place: int, ready: set[int]) -> None:
        """Begin reading the dataset that a join adds, once the dataset exists and its keys can be divided.

        Args:
            place: The place of the operator in the recipe.
            ready: The set that it belongs to now.
        """
        ready.add(place)
        operator = self._job.recipe.steps[place].operator
        is_stored = isinstance(operator, Partitioned) and operator.other_is_input
        if place in self._keyed and (place in self._stored or not is_stored):
            self._begin_other(place)

    def _begin_store(self, node: PlanNode) -> None:
        """Write the rows of a stream as the dataset that a join adds."""
        work = ExportWork(Export("joined.jinx"), {}, "", "the dataset to join")
        self._begin_tasks(node, Tasks(work, {0: 1}, self._manifest_of(node, node.gathers)))

    def _begin_stored(self, node: PlanNode) -> None:
        """Begin reading the dataset that the run has written."""
        (place,) = node.operators
        (stored,) = self._ledger.parts(node.after[0].node, 0)
        self._partitioned(place).bind(str(self._ledger.directory.parts / stored / "joined.jinx"))
        self._begin_other_after(place, self._stored)

    def _begin_other(self, place: int) -> None:
        """Compute the keys of the dataset that a join adds, in as many partitions as the keys of the samples."""
        node = self._graph.find("source", place, of_other=True)
        if node is None:
            return
        (reader,) = self._graph.readers(node.id)
        path = self._other_path(place)
        source, rows = Source((str(Path(path).absolute()),)), 0
        if not self._has_decided(place):
            source = replace(source, contents=(content_digest(jinx.open(path)),))
            rows = len(OpenSource(source))
            self._progress.event("other", {"path": path, "rows": rows})
        blocks = dict(enumerate(cut(rows, block_size(rows, SampleSize(), self._job.recipe.options.block_rows).rows)))
        self._streams.add(node, source, blocks)
        self._streams.add_other_rows(reader, SourceRows([Input(path, {}, rows, path)]))
        stage = replace(stage_of(self._job.recipe, reader), partitions=self._partitions(place).count)
        self._driver.begin(node.id, blocks, {reader.id: MapWork(stage)})

    def _refuse_bad_rows_of_other(self, node: PlanNode) -> None:
        """Refuse to join with a dataset that has an unreadable row."""
        bad: list[BadRow] = []
        for block in self._streams.blocks(node.id):
            failed = [self._streams.named(node.id, row) for row in self._ledger.bad_rows_of(node.id, block)]
            if failed:
                # The ledger counts bad rows of the input only, and these belong to another dataset.
                self._ledger.forget(node.id, block)
            bad += failed
        if not bad:
            return
        path = self._other_path(node.keys_of or 0)
        first, suffix = bad[0], f", and {len(bad) - 1:,} more like it" if len(bad) > 1 else ""
        raise RepairError(
            f"{first.place}, {first.operator or 'worker'}: {first.error}{suffix}; a join needs the keys of all rows: "
            f"restore {path} and run again, or write it without what cannot be read and {START_OVER}"
        )

    # Methods for tasks over keys, and for decisions.

    def _begin_merge(self, node: PlanNode) -> None:
        tasks = self._tasks_over_keys(node.operators[0])
        self._begin_key_work(node, None if tasks is None else tasks.merge(of_other=node.of_other))

    def _begin_look(self, node: PlanNode) -> None:
        place = node.operators[0]
        tasks = self._tasks_over_keys(place)
        if tasks is None:
            self._begin_key_work(node, None)
            return
        merged, merged_other = (self._parts_for("merge", place, of_other=of_other) for of_other in (False, True))
        self._keys[place] = keys = tasks.keys(merged, merged_other)
        self._begin_key_work(node, tasks.look(keys))

    def _begin_key_work(self, node: PlanNode, work: KeyWork | None) -> None:
        if work is None:
            self._begin_tasks(node, Tasks())
            return
        self._progress.phase(work.operator.name, work.step, work.count)
        work = replace(work, pool=node.pool or work.pool)
        self._begin_tasks(node, Tasks(work, dict.fromkeys(range(work.count), 1)))

    def _begin_tasks(self, node: PlanNode, tasks: Tasks) -> None:
        self._streams.add(node, tasks.source, tasks.blocks)
        self._driver.begin(node.id, tasks.blocks, {} if tasks.work is None else {node.id: tasks.work})

    def _tasks_over_keys(self, place: int) -> KeyTasks | None:
        """The tasks over the keys of an operator; None if its decision is made, or there are no keys."""
        parts = [] if self._has_decided(place) else self._parts_for("map", place)
        if not parts:
            return None
        if place not in self._key_tasks:
            operator, other_parts = self._partitioned(place), self._parts_for("map", place, of_other=True)
            self._key_tasks[place] = KeyTasks(operator, place, self._partitions(place), parts, other_parts)
        return self._key_tasks[place]

    def _begin_decision(self, node: PlanNode) -> None:
        place, rows = node.operators[0], node.after[0].node
        manifest, looks = self._manifest_of(node, [Stream(rows)]), self._parts_for("look", place)
        source, ends = self._decisions.after(node.id, place, manifest, self._keys.pop(place, None), looks)
        self._key_tasks.pop(place, None)
        self._begin_blocks(node, source, _blocks_of(source, ends, self._job.plan.rows_per_block))

    def _discard_after(self, node_id: str) -> None:
        """Drop the work after a decision if it differs from the one made before the input grew."""
        nodes = self._graph.depending_on([node_id])
        refuse_rows_in_tables(self._job.recipe, self._ledger, nodes)
        self._driver.discard([node.id for node in nodes])

    def _begin_gather(self, node: PlanNode) -> None:
        """Combine the streams that are complete now."""
        operator = self._job.recipe.steps[node.operators[0]].operator if node.operators else Gather()
        if not isinstance(operator, Gather):
            raise TypeError(f"{operator.name} puts no streams together")
        streams = node.gathers[:-1] if operator.counts_last else node.gathers
        passes = not operator.counts_last or operator.passes(self._rows_of(node.gathers[-1]))
        source = self._manifest_of(node, streams if passes else ())
        rows = [self._rows_of(stream) for stream in streams] if passes else []
        count, weights = sum(rows), operator.weights
        if weights is not None and passes:
            specs = [SourceSpec(str(stream), weight) for stream, weight in zip(streams, weights, strict=True)]
            order = mixture_order(specs, rows, self._job.recipe.options.seed)
            if order is not None:
                path = self._ledger.decision_path(node.id, "npy")
                count = publish_order(path, [order])
                source = replace(source, order=str(path))
        self._begin_blocks(node, source, cut(count, self._job.plan.rows_per_block))

    def _rows_of(self, stream: Stream) -> int:
        """The number of rows of a finished stream."""
        if not self._graph[stream.node].reads:  # a source or decision has blocks, not parts
            return sum(self._streams.blocks(stream.node).values())
        return sum(part.rows for part in self._parts_of(stream))

    def _parts_of(self, stream: Stream) -> list[PortPart]:
        """The parts of a finished stream, in order."""
        blocks = self._streams.blocks(stream.node)
        lanes = (lane for block in blocks for lane in self._ledger.lanes(stream.node, block, stream.port))
        return [part for lane in lanes for part in lane]

    def _manifest_of(self, node: PlanNode, streams: Sequence[Stream]) -> Source:
        """All rows of finished streams, one after another, as one source."""
        directory = self._ledger.directory
        manifest = self._ledger.decision_path(node.id, "parts.npy")
        parts = [(directory.parts / str(part.part), part.rows) for stream in streams for part in self._parts_of(stream)]
        with published(manifest) as file:
            write_manifest(file, manifest.parent, parts)
        first = (streams or node.after)[0].node
        base = self._streams.source(first) if self._graph[first].has_base else Source()
        return Source(base.base, manifest=str(manifest), contents=base.contents, facts=base.facts)

    def _parts_for(self, kind: Kind, place: int, *, of_other: bool = False) -> list[Path]:
        """The parts that a node of an operator wrote, in order; none if there is no such node."""
        node, parts = self._graph.find(kind, place, of_other=of_other), self._ledger.directory.parts
        if node is None:
            return []
        return [parts / name for block in self.blocks(node.id) for name in self._ledger.parts(node.id, block)]

    def _has_decided(self, place: int) -> bool:
        node = self._graph.find("decide", place)
        return node is not None and self._ledger.decided(node.id) is not None

    def _partitions(self, place: int) -> Partitions:
        """The partitions of the keys of an operator, as the log records them."""
        node, operator = self._graph.find("map", place), self._partitioned(place)
        settled = None if node is None else self._ledger.partitions(node.id)
        if settled is None:
            raise RunLogError(f"the log does not say how the keys of {operator.name} are divided; {START_OVER}")
        return settled

    def _other_path(self, place: int) -> str:
        other = self._partitioned(place).other
        return "" if other is None else other[0]

    def _partitioned(self, place: int) -> Partitioned:
        operator = self._job.recipe.steps[place].operator
        if not isinstance(operator, Partitioned):
            raise TypeError(f"{operator.name} has no keys in partitions")
        return operator

    # Methods for outputs.

    def _begin_output(self, node: PlanNode) -> None:
        last = next(rows for rows in self._graph.outputs() if rows.output == node.output)
        outputs = self._job.outputs
        tasks = Tasks() if outputs is None else outputs.tasks(node, len(self.blocks(last.id)))
        if tasks.blocks:
            self._progress.phase("output", "write", len(tasks.blocks))
        self._begin_tasks(node, tasks)

    def _tell(self, kind: str, facts: dict[str, Any]) -> None:
        self._progress.event(kind, facts)
        if self._job.outputs is not None and kind == "task":
            node = self._graph[facts["node"]]
            if node.kind in WRITERS:
                self._job.outputs.committed(node, facts["block"])


def _blocks_of(source: Source, ends: Sequence[int], rows_per_block: int) -> list[int]:
    """Rows or groups of each block after the decision of a global operator; the dataset is not opened.

    Args:
        source: The rows after the decision.
        ends: See `Decided.ends`.
        rows_per_block: Rows of a block.
    """
    if source.bounds is not None:
        return cut_groups(np.load(source.bounds, mmap_mode="r"), rows_per_block)
    return [rows for first, end in pairwise([0, *ends]) for rows in cut(end - first, rows_per_block)]
