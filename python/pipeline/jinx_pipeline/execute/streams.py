"""Finds the files with the rows that each node of a running plan reads."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from jinx_pipeline.model.receipt import BadRow
from jinx_pipeline.plan.graph import PlanGraph, PlanNode
from jinx_pipeline.plan.source import BlockOrder, Source
from jinx_pipeline.plan.source_rows import SourceRows
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.schedule.graph import Stream
from jinx_pipeline.schedule.task import Task


@dataclass(frozen=True)
class _Origin:
    """The blocks of a source, of a decision, or of a node that has tasks but reads no blocks.

    Attributes:
        source: The rows.
        blocks: Rows of each block.
        first_rows: The first row of each block.
    """

    source: Source
    blocks: Mapping[int, int]
    first_rows: Mapping[int, int]


class StreamTable:
    """Finds the rows that a task reads.

    Args:
        graph: The nodes.
        ledger: The committed work.
        rows: The names of the rows of the sources.
    """

    def __init__(self, graph: PlanGraph, ledger: Ledger, rows: SourceRows) -> None:
        self._graph = graph
        self._ledger = ledger
        self._rows = rows
        self._other_rows: dict[str, SourceRows] = {}
        self._origins: dict[str, _Origin] = {}
        self._parts = str(ledger.directory.parts)
        self._origin_of = {node.id: graph.origin(node.id).id for node in graph.nodes}

    def add(self, node: PlanNode, source: Source, blocks: Mapping[int, int], first_row: int = 0) -> None:
        """Add the blocks of a node that reads no blocks itself.

        Args:
            node: The node.
            source: The rows that it gives to its readers; empty if its tasks know what they read.
            blocks: Rows of each block.
            first_row: The first row of the first block, counted in the source.
        """
        firsts = accumulate(blocks.values(), initial=first_row)
        self._origins[node.id] = _Origin(source, blocks, dict(zip(blocks, firsts, strict=False)))

    def add_other_rows(self, node: PlanNode, rows: SourceRows) -> None:
        """Add the names of rows for a node that reads the dataset that a join adds."""
        self._other_rows[node.id] = rows

    def blocks(self, node: str) -> Mapping[int, int]:
        """The number of rows of each block of a node, as its source or decision cut them."""
        return self._origins[self._origin_of[node]].blocks

    def source(self, node: str) -> Source:
        """The source or decision whose blocks a node reads."""
        return self._origins[self._origin_of[node]].source

    # These methods implement `engines.driver.Streams`.

    def read_by(self, task: Task) -> tuple[Source, Task]:
        """The rows that a task reads, and the task with its first row counted in them."""
        reads = self._graph[task.node].reads
        origin = self._origins.get(reads[0].node if reads else task.node)
        if origin is not None:
            return origin.source, replace(task, first=origin.first_rows[task.block] + task.first)
        has_base = self._graph[reads[0].node].has_base
        base = self.source(task.node) if has_base else Source()
        parts = tuple(part for stream in reads for part in self._parts_of(stream, task.block))
        block = self._block_order(task) if has_base and self._graph[task.node].reads_in_order else None
        return Source(base.base, parts, contents=base.contents, facts=base.facts, block=block), task

    def named(self, node: str, bad: BadRow) -> BadRow:
        """A row that was left out, with its source and its row number in this source."""
        return self._other_rows.get(node, self._rows).named(bad)

    def counts(self, node: str) -> bool:
        """Whether rows that a node leaves out count against the limit of the recipe."""
        return node not in self._other_rows

    def _block_order(self, task: Task) -> BlockOrder:
        """The order of the rows of the block that a task belongs to."""
        origin_id = self._origin_of[task.node]
        if self._graph[origin_id].kind == "source":
            return BlockOrder()
        origin = self._origins[origin_id]
        return BlockOrder(origin.source, origin.first_rows[task.block], origin.blocks[task.block])

    def _parts_of(self, stream: Stream, block: int) -> list[str]:
        return [f"{self._parts}/{name}" for name in self._ledger.parts(stream.node, block, stream.port)]
