"""The graph of the scheduler: nodes that process blocks of rows, connected by data and by order."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

_T = TypeVar("_T")


class GraphError(ValueError):
    """Raised when the nodes, ports or blocks of a graph do not fit together; the message names them."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The rows that leave a node through one of its ports.

    Attributes:
        node: The id of the node.
        port: The name of the port.
    """

    node: str
    port: str = "out"

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"


@dataclass(frozen=True, slots=True)
class Node:
    """Work on each block of its input.

    Attributes:
        id: Its name in the graph.
        pool: The kind of worker that runs its tasks; None if it has no tasks, and its blocks pass unchanged.
        inputs: The streams that it reads. Block n of the node consists of block n of each input. A node without inputs
            is a source.
        after: Nodes that must be finished before its first block begins.
        outputs: The ports through which its rows leave.
        blocks: Rows of each block of a source, by number; None: `Scheduler.set_blocks` sets them later.
        strikes: The minimum number of failures before a task is divided or given up, if more than in `Limits`.
    """

    id: str
    pool: str | None = "cpu"
    inputs: tuple[Stream, ...] = ()
    after: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ("out",)
    blocks: Mapping[int, int] | None = None
    strikes: int = 0

    @property
    def upstream(self) -> tuple[str, ...]:
        """The nodes on which the node depends, with repetitions."""
        return (*(stream.node for stream in self.inputs), *self.after)


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes whose streams fit together.

    Attributes:
        nodes: The nodes, in any order.
        order: The same nodes, each after those that it depends on.
        domains: A number for each node. Data edges keep block numbers, so nodes that they connect, directly or not,
            have the same blocks and the same number.

    Raises:
        GraphError: The nodes do not fit together.
    """

    nodes: tuple[Node, ...]
    order: tuple[Node, ...] = field(init=False)
    domains: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        by_id = {node.id: node for node in self.nodes}
        if (repeated := _repeated(node.id for node in self.nodes)) is not None:
            raise GraphError(f"two nodes have the id {repeated!r}")
        for node in self.nodes:
            _check_node(node)
            _check_edges(node, by_id)
        try:
            ids = TopologicalSorter({node.id: node.upstream for node in self.nodes}).static_order()
            order = tuple(by_id[node_id] for node_id in ids)
        except CycleError as error:
            raise GraphError(f"the graph has a cycle: {' -> '.join(map(repr, error.args[1]))}") from None
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "domains", _domains(order))

    def readers(self) -> dict[str, tuple[str, ...]]:
        """The direct and indirect readers of each node, each after the nodes that it reads."""
        readers: dict[str, dict[str, None]] = {node.id: {} for node in self.order}
        for node in reversed(self.order):
            for stream in node.inputs:
                readers[stream.node] = {node.id: None, **readers[node.id], **readers[stream.node]}
        places = {node.id: place for place, node in enumerate(self.order)}
        return {node_id: tuple(sorted(ids, key=places.__getitem__)) for node_id, ids in readers.items()}

    def levels(self) -> dict[str, int]:
        """The length of the longest path from each node to an end of the graph."""
        levels = dict.fromkeys((node.id for node in self.order), 0)
        for node in reversed(self.order):
            for node_id in node.upstream:
                levels[node_id] = max(levels[node_id], levels[node.id] + 1)
        return levels


def check_blocks(node: str, blocks: Mapping[int, int]) -> None:
    """Refuse invalid blocks.

    Raises:
        GraphError: A number or a count of rows is negative.
    """
    for block, rows in blocks.items():
        if block < 0 or rows < 0:
            raise GraphError(f"node {node!r}: block {block} with {rows} rows is invalid")


def block_difference(first: str, blocks: Iterable[int], second: str, other_blocks: Iterable[int]) -> str | None:
    """How the block numbers of two nodes differ; None if they are equal."""
    first_blocks, second_blocks = set(blocks), set(other_blocks)
    if first_blocks == second_blocks:
        return None
    block = min(first_blocks ^ second_blocks)
    has, lacks = (first, second) if block in first_blocks else (second, first)
    return f"{has!r} has a block {block}, {lacks!r} does not"


def _check_node(node: Node) -> None:
    if (port := _repeated(node.outputs)) is not None:
        raise GraphError(f"node {node.id!r} has two ports {port!r}")
    if (stream := _repeated(node.inputs)) is not None:
        raise GraphError(f"node {node.id!r} reads {str(stream)!r} twice")
    if node.blocks is None:
        return
    if node.inputs:
        raise GraphError(f"node {node.id!r} reads {str(node.inputs[0])!r}, so its blocks cannot be given")
    check_blocks(node.id, node.blocks)


def _check_edges(node: Node, by_id: Mapping[str, Node]) -> None:
    for stream in node.inputs:
        producer = by_id.get(stream.node)
        if producer is None:
            raise GraphError(f"node {node.id!r} reads {str(stream)!r}, but there is no node {stream.node!r}")
        if stream.port not in producer.outputs:
            ports = ", ".join(map(repr, producer.outputs)) or "none"
            raise GraphError(
                f"node {node.id!r} reads {str(stream)!r}, but node {stream.node!r} has no port {stream.port!r}; "
                f"its ports: {ports}"
            )
    for node_id in node.after:
        if node_id not in by_id:
            raise GraphError(f"node {node.id!r} runs after {node_id!r}, but there is no such node")


def _domains(order: Iterable[Node]) -> dict[str, int]:
    domains: dict[str, int] = {}
    members: dict[int, list[str]] = {}
    sources: dict[int, Node] = {}  # for each domain, a source whose blocks are given
    for node in order:
        domain = len(domains) if not node.inputs else domains[node.inputs[0].node]
        for stream in node.inputs[1:]:
            other = domains[stream.node]
            if other == domain:
                continue
            if other in sources:
                if domain in sources:
                    _refuse_difference(node, stream, sources[domain], sources[other])
                sources.setdefault(domain, sources[other])
            domains.update(dict.fromkeys(members[other], domain))
            members[domain] += members.pop(other)
        domains[node.id] = domain
        members.setdefault(domain, []).append(node.id)
        if node.blocks is not None:
            sources[domain] = node
    return domains


def _refuse_difference(node: Node, stream: Stream, source: Node, other: Node) -> None:
    difference = block_difference(source.id, source.blocks or (), other.id, other.blocks or ())
    if difference is not None:
        raise GraphError(
            f"node {node.id!r} reads {str(node.inputs[0])!r} and {str(stream)!r}, whose blocks differ: {difference}"
        )


def _repeated(values: Iterable[_T]) -> _T | None:
    return next((value for value, times in Counter(values).items() if times > 1), None)
