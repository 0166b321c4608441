"""Graphs for tests: chains, diamonds, barriers, and any mixture of them."""

import random

from jinx_pipeline.schedule.graph import Graph, Node, Stream
from jinx_pipeline.schedule.scheduler import Scheduler


def chain(blocks, pools=("cpu",), limits=None, **more):
    """A scheduler for nodes "0", "1" ... each of which reads the one before it."""
    nodes = [Node("0", pools[0], blocks=dict(enumerate(blocks)))]
    for number, pool in enumerate(pools[1:], start=1):
        nodes.append(Node(str(number), pool, (Stream(str(number - 1)),)))
    return Scheduler(Graph(tuple(nodes)), limits, **more)


class GraphMaker:
    """Makes random graphs that fit together.

    Attributes:
        nodes: The nodes so far.
        late: For sources whose blocks are given later: which, once they are decided.
    """

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._pools = [f"p{number}" for number in range(dice.randrange(1, 4))]
        self.nodes: list[Node] = []
        self.late: dict[str, dict[int, int]] = {}

    def graph(self) -> Graph:
        """One of the shapes that recipes have, or any."""
        self._dice.choice((self._chain, self._diamond, self._barrier, self._any))()
        if self._dice.random() < 0.2:
            self._chain()  # a second one, with other blocks
        nodes = self.nodes.copy()
        self._dice.shuffle(nodes)
        return Graph(tuple(nodes))

    def _add(self, *inputs: Stream, after: tuple[str, ...] = (), ports=("out",), blocks=None) -> Node:
        name = f"n{len(self.nodes)}"
        is_late = not inputs and (bool(after) or self._dice.random() < 0.1)
        if not inputs:
            blocks = self._blocks() if blocks is None else blocks
            if is_late:
                self.late[name] = blocks
        given = None if inputs or is_late else blocks
        has_tasks = bool(inputs) or self._dice.random() < 0.7
        node = Node(name, self._dice.choice(self._pools) if has_tasks else None, inputs, after, ports, given)
        self.nodes.append(node)
        return node

    def _blocks(self) -> dict[int, int]:
        numbers = range(self._dice.choice((0, 1, 2, 3, 6)))
        return {number: self._dice.choice((0, 1, 2, 4, 8)) for number in numbers}

    def _chain(self) -> Node:
        node = self._add()
        for _ in range(self._dice.randrange(4)):
            node = self._add(Stream(node.id))
        return node

    def _diamond(self) -> Node:
        first = self._add(Stream(self._chain().id), ports=("kept", "dropped"))
        ends = [Stream(first.id, "kept"), Stream(first.id, "dropped")]
        for _ in range(self._dice.randrange(1, 4)):
            at = self._dice.randrange(2)
            ends[at] = Stream(self._add(ends[at]).id)
        self._dice.shuffle(ends)
        meeting = self._add(*ends)
        for _ in range(self._dice.randrange(3)):
            self._add(Stream(meeting.id))
        return meeting

    def _barrier(self) -> None:
        """Two branches, a look at what both have made, and what its decision makes of them."""
        first = self._dice.choice((self._chain, self._diamond))()
        second = self._add(Stream(first.id)) if self._dice.random() < 0.5 else self._chain()
        look = self._add(after=(first.id, second.id))
        # Once more through blocks that are there, or through others.
        inputs = self._dice.choice(((), (Stream(first.id),)))
        self._add(Stream(self._add(*inputs, after=(look.id,)).id))

    def _any(self) -> None:
        streams: list[tuple[Stream, int]] = []  # with the number of their blocks' owner
        blocks: list[dict[int, int]] = []
        for _ in range(self._dice.randrange(2, 9)):
            after = tuple(
                node.id for node in self._dice.sample(self.nodes, min(len(self.nodes), 2)) if self._dice.random() < 0.2
            )
            ports = self._dice.choice((("out",), ("out",), ("kept", "dropped"), ()))
            if not streams or self._dice.random() < 0.3:
                owner = self._dice.randrange(len(blocks) + 1)
                if owner == len(blocks):
                    blocks.append(self._blocks())
                # Another source with the same blocks may meet the first.
                numbers = blocks[owner]
                node = self._add(after=after, ports=ports, blocks={n: self._dice.randrange(5) for n in numbers})
            else:
                _, owner = self._dice.choice(streams)
                mine = [stream for stream, other in streams if other == owner]
                node = self._add(
                    *self._dice.sample(mine, min(len(mine), self._dice.randrange(1, 4))), after=after, ports=ports
                )
            streams += [(Stream(node.id, port), owner) for port in ports]
