"""The flow of blocks through a graph: where they have arrived, which wait at a barrier, which nodes are finished."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jinx_pipeline.schedule.graph import Graph, GraphError, Node, block_difference, check_blocks

RowsByPort = Mapping[str, int]

Committed = Callable[[str, int, int], RowsByPort | None]
"""The output rows by port of a block with a number of rows at a node, if an earlier run committed all of it."""


def nothing_committed(node: str, block: int, rows: int) -> None:
    """The `Committed` callback if there is no earlier run."""
    del node, block, rows


class Entry(NamedTuple):
    """A block with rows that can begin at a node."""

    node: str
    block: int
    rows: int


@dataclass(slots=True, eq=False)
class _Place:
    """A node, and the blocks that are on their way to it.

    Attributes:
        node: The node.
        consumers: The nodes that read it, with the port.
        followers: The nodes that wait until it is finished.
        unfinished: How many of its data and control inputs are not finished.
        barriers: How many of its control inputs are not finished.
        is_known: Whether its block numbers are known.
        missing: How many of its blocks are not finished.
        arriving: Blocks that have arrived from some inputs: the number of missing inputs, and the rows so far.
        held: Rows of the blocks that wait for control inputs.
        is_finished: Whether the node is finished.
    """

    node: Node
    consumers: list[tuple[str, "_Place"]] = field(default_factory=list[tuple[str, "_Place"]])
    followers: list["_Place"] = field(default_factory=list["_Place"])
    unfinished: int = 0
    barriers: int = 0
    is_known: bool = False
    missing: int = 0
    arriving: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    held: dict[int, int] = field(default_factory=dict[int, int])
    is_finished: bool = False


class BlockFlow:
    """Moves blocks through a graph: takes the blocks that nodes have finished, and returns those that can begin.

    A block without rows, or one that an earlier run committed, passes a node at once.

    Args:
        graph: The nodes.
        committed: Called for each block with rows before it begins.
    """

    def __init__(self, graph: Graph, committed: Committed) -> None:
        self._places = {node.id: _Place(node) for node in graph.nodes}
        self._domains = graph.domains
        self._members: dict[int, list[_Place]] = {}
        # For each domain, the first source with known blocks, and these blocks.
        self._numbers: dict[int, tuple[str, Mapping[int, int]]] = {}
        self._committed = committed
        self._unfinished = len(self._places)
        self._newly_finished: list[str] = []
        self._passed: deque[tuple[_Place, int, RowsByPort]] = deque()
        self._entered: list[Entry] = []
        for node in graph.order:
            place = self._places[node.id]
            place.unfinished, place.barriers = len(node.upstream), len(node.after)
            self._members.setdefault(self._domains[node.id], []).append(place)
            for stream in node.inputs:
                self._places[stream.node].consumers.append((stream.port, place))
            for node_id in node.after:
                self._places[node_id].followers.append(place)

    @property
    def finished(self) -> bool:
        """Whether every node is finished."""
        return not self._unfinished

    def is_finished(self, node: str) -> bool:
        """Whether a node is finished."""
        return self._places[node].is_finished

    def check_rows(self, node: str, rows: RowsByPort) -> None:
        """Refuse rows whose ports are not exactly those of the node.

        Raises:
            GraphError: The ports differ.
        """
        outputs = self._places[node].node.outputs
        if len(rows) != len(outputs) or not all(port in rows for port in outputs):
            raise GraphError(f"node {node!r} has the ports {list(outputs)}, but rows were given for {list(rows)}")

    def set_blocks(self, node: str, blocks: Mapping[int, int]) -> list[Entry]:
        """Set the blocks of a source.

        Raises:
            GraphError: The node is not a source, has blocks already, or meets a source with other blocks.
        """
        place = self._places.get(node)
        if place is None:
            raise GraphError(f"there is no node {node!r}")
        if place.node.inputs:
            raise GraphError(f"node {node!r} reads {str(place.node.inputs[0])!r}, so its blocks cannot be given")
        if place.is_known:
            raise GraphError(f"the blocks of node {node!r} were given before")
        check_blocks(node, blocks)
        domain = self._domains[node]
        other, numbers = self._numbers.setdefault(domain, (node, blocks))
        difference = block_difference(node, blocks, other, numbers) if numbers is not blocks else None
        if difference is not None:
            raise GraphError(f"node {node!r} meets {other!r} further down, and their blocks differ: {difference}")
        for member in self._members[domain]:
            if member is place or (member.node.inputs and not member.is_known):
                member.is_known, member.missing = True, len(blocks)
        for block, rows in blocks.items():
            self._begin(place, block, rows)
        self._finish(place)
        return self._pass_on()

    def complete(self, node: str, block: int, rows: RowsByPort) -> list[Entry]:
        """Mark a block as finished at a node."""
        self._passed.append((self._places[node], block, rows))
        return self._pass_on()

    def take_finished(self) -> list[str]:
        """The nodes that were finished since the last call, each after those that it depends on."""
        finished, self._newly_finished = self._newly_finished, []
        return finished

    def _pass_on(self) -> list[Entry]:
        while self._passed:
            place, block, rows = self._passed.popleft()
            place.missing -= 1
            for port, consumer in place.consumers:
                self._arrive(consumer, block, rows[port])
            if not place.missing:
                self._finish(place)
        entered, self._entered = self._entered, []
        return entered

    def _arrive(self, place: _Place, block: int, rows: int) -> None:
        inputs = len(place.node.inputs)
        if inputs > 1:
            missing_inputs, rows_so_far = place.arriving.pop(block, (inputs, 0))
            rows += rows_so_far
            if missing_inputs > 1:
                place.arriving[block] = missing_inputs - 1, rows
                return
        self._begin(place, block, rows)

    def _begin(self, place: _Place, block: int, rows: int) -> None:
        """Begin a block that has arrived from all inputs."""
        if place.barriers:
            place.held[block] = rows
        elif not rows or place.node.pool is None:
            self._passed.append((place, block, dict.fromkeys(place.node.outputs, rows)))
        elif (committed := self._committed(place.node.id, block, rows)) is not None:
            self.check_rows(place.node.id, committed)
            self._passed.append((place, block, committed))
        else:
            self._entered.append(Entry(place.node.id, block, rows))

    def _finish(self, place: _Place) -> None:
        """Finish a node if no block is missing, and then the nodes that only waited for it."""
        places = [place]
        while places:
            place = places.pop()
            if place.is_finished or place.unfinished or place.missing or not place.is_known:
                continue
            place.is_finished = True
            self._unfinished -= 1
            self._newly_finished.append(place.node.id)
            for _, consumer in place.consumers:
                consumer.unfinished -= 1
                places.append(consumer)
            for follower in place.followers:
                follower.unfinished -= 1
                follower.barriers -= 1
                places.append(follower)
                if not follower.barriers:
                    held, follower.held = follower.held, {}
                    for block in sorted(held):
                        self._begin(follower, block, held[block])
