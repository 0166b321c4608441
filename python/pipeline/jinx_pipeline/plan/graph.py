"""The graph of a plan: sources, chains of operators, tasks over keys, decisions and outputs.

The id of a node is a digest of what it makes: of its operators with their parameters and code, and of the ids of the
nodes that it reads. Editing a recipe changes the ids from the edited step on.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

from jinx_pipeline.schedule.graph import Graph, Node, Stream

# The operators along a path through branches: their places in the recipe, or in a stage.
Lane: TypeAlias = tuple[int, ...]
Kind = Literal["source", "map", "merge", "look", "decide", "gather", "store", "join", "pack"]

# The number of hexadecimal digits of an id: enough for a million nodes without a collision.
_DIGITS: Final = 12
_PREFIX_CHARACTERS: Final = 24
# The run stops after a task whose rows cannot be left out has failed this many times.
_FATAL_STRIKES: Final = 5
# Kinds of nodes that write outputs.
WRITERS: Final[tuple[Kind, ...]] = ("join", "pack")
# Ports whose rows other nodes read block by block.
ROW_PORTS: Final = ("out", "dropped", "failed")


@dataclass(frozen=True)
class PlanNode:
    """A node of the plan.

    Attributes:
        id: A readable prefix, and a digest.
        kind: `source`: rows of datasets; `map`: operators run on each block; `merge`: fewer and larger files of keys;
            `look`: tasks over the keys of all rows; `decide`: the driver decides which rows remain, in which order;
            `gather`: streams with different blocks become one; `store`: a task writes the rows of a stream as the
            dataset that a join adds; `join`: tasks that put the parts of divided blocks together; `pack`: tasks that
            write an output.
        reads: The streams that it reads block by block; their rows are concatenated, see also `reads_in_order`.
        after: Streams that must be complete before it begins.
        gathers: Of a `gather` or `store` node: the streams whose rows it puts together, which are in `after` too.
        ports: `out`, `dropped` and `failed` hold rows, `keys` the keys for a later `look`, `edits` what an operator
            needs to edit each sample after its decision.
        operators: The places of its operators in the recipe, in the order in which they run.
        lanes: Of a node for branches that come together again: the places of the operators along each path, in the
            order of the rows; see `plan/fusion.py`. Empty for one path with all operators.
        pool: The kind of worker.
        batch_rows: Rows that operators see at once.
        group: The place of the operator that makes samples from groups.
        keys_of: The place of the operator whose keys are written to the port `keys`.
        of_other: Whether it belongs to the dataset that a join adds.
        has_base: Whether its rows are rows of the source, not new ones.
        output: The number of the output that it writes, or whose rows it makes.
        sources: The group of sources whose rows a source has.
    """

    id: str
    kind: Kind
    reads: tuple[Stream, ...] = ()
    after: tuple[Stream, ...] = ()
    gathers: tuple[Stream, ...] = ()
    ports: tuple[str, ...] = ("out",)
    operators: tuple[int, ...] = ()
    lanes: tuple[Lane, ...] = ()
    pool: str | None = None
    batch_rows: int = 0
    group: int | None = None
    keys_of: int | None = None
    of_other: bool = False
    has_base: bool = True
    output: int | None = None
    sources: int = 0

    @property
    def reads_in_order(self) -> bool:
        """Whether rows of a base are read in the order of the block, because operators divided them."""
        return len(self.reads) > 1 and any(stream.port != "out" for stream in self.reads)


@dataclass(frozen=True)
class PlanGraph:
    """All nodes of a plan.

    Attributes:
        nodes: The nodes, each after those that it reads or follows.
    """

    nodes: tuple[PlanNode, ...] = field(default=())

    def __getitem__(self, node_id: str) -> PlanNode:
        return self._by_id[node_id]

    def find(self, kind: Kind, place: int, *, of_other: bool = False) -> PlanNode | None:
        """The node of some kind for an operator that looks at all rows; None if there is none.

        Args:
            kind: The kind; `map`: the node that computes the keys.
            place: The place of the operator in the recipe.
            of_other: Whether to find the node for the dataset that a join adds.
        """
        for node in self.nodes:
            places = (node.keys_of,) if kind == "map" else node.operators
            if node.kind == kind and node.of_other == of_other and place in places:
                return node
        return None

    def of_kind(self, kind: Kind) -> list[PlanNode]:
        """All nodes of a kind."""
        return [node for node in self.nodes if node.kind == kind]

    @property
    def sources(self) -> list[PlanNode]:
        """The nodes of the sources of the recipe, by group."""
        return [node for node in self.nodes if node.kind == "source" and not node.of_other]

    def barriers(self) -> list[PlanNode]:
        """The nodes that give their readers new blocks, once all rows before them are complete."""
        return [node for node in self.nodes if node.kind in {"decide", "gather"}]

    def outputs(self) -> list[PlanNode]:
        """The nodes whose rows become an output, in the order of the outputs."""
        return [node for node in self.nodes if node.kind == "map" and node.output is not None]

    def origin(self, node_id: str) -> PlanNode:
        """The source or decision from which the blocks of a node come."""
        node = self[node_id]
        while node.reads:
            node = self[node.reads[0].node]
        return node

    def readers(self, origin: str) -> list[PlanNode]:
        """The nodes that read the blocks of a source or decision."""
        return [node for node in self.nodes if node.reads and self.origin(node.id).id == origin]

    def depending_on(self, node_ids: Iterable[str]) -> list[PlanNode]:
        """The nodes whose rows depend on those of some nodes, directly or not; without nodes that write outputs."""
        before = set(node_ids)
        found: list[PlanNode] = []
        for node in self.nodes:
            if node.kind not in WRITERS and before.intersection(stream.node for stream in (*node.reads, *node.after)):
                before.add(node.id)
                found.append(node)
        return found

    def of_generations(self, generations: Sequence[int]) -> "PlanGraph":
        """The graph for writing the outputs again: the ids of the writing nodes differ for each generation.

        Args:
            generations: How many times each output was written before.
        """
        if not any(generations):
            return self
        new_ids = {
            node.id: f"{node.id}-{generations[node.output]}"
            for node in self.nodes
            if node.kind in WRITERS and node.output is not None and generations[node.output]
        }

        def renamed(node: PlanNode) -> PlanNode:
            after = tuple(Stream(new_ids.get(stream.node, stream.node), stream.port) for stream in node.after)
            return replace(node, id=new_ids.get(node.id, node.id), after=after)

        return PlanGraph(tuple(map(renamed, self.nodes)))

    def has(self, node_id: str) -> bool:
        """Whether there is a node with this id, of any generation."""
        plain, _, generation = node_id.rpartition("-")
        is_writer = plain in self._by_id and self[plain].kind in WRITERS
        return node_id in self._by_id or (is_writer and generation.isdigit())

    def scheduled(self) -> Graph:
        """The graph for the scheduler. Blocks of sources and decisions are added once they are known.

        Raises:
            GraphError: The nodes do not fit together.
        """
        return Graph(
            tuple(
                Node(
                    node.id,
                    node.pool,
                    node.reads,
                    tuple(dict.fromkeys(stream.node for stream in node.after)),
                    tuple(port for port in node.ports if port in ROW_PORTS),
                    strikes=_FATAL_STRIKES if node.pool is not None and node.kind != "map" else 0,
                )
                for node in self.nodes
            )
        )

    @cached_property
    def _by_id(self) -> dict[str, PlanNode]:
        return {node.id: node for node in self.nodes}


def node_id(prefix: str, facts: Iterable[Any]) -> str:
    """The id of a node.

    Args:
        prefix: A readable prefix; characters that a file name should not have are removed.
        facts: Everything that determines the rows that the node makes, as plain data.
    """
    text = json.dumps([prefix, *facts], sort_keys=True, default=str)
    readable = re.sub(r"[^A-Za-z0-9_]+", "", prefix)[:_PREFIX_CHARACTERS] or "node"
    return f"{readable}-{sha256(text.encode()).hexdigest()[:_DIGITS]}"
