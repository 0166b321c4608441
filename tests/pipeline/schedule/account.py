"""A slow account of what each node of a graph has read and made, to hold against the scheduler."""

import random
from collections import defaultdict
from collections.abc import Callable

from jinx_pipeline.schedule.graph import Graph, Node
from jinx_pipeline.schedule.task import Lease, Limits, Task

Row = tuple
Key = tuple[str, int]


class Account:
    """What has happened, told from receipts alone.

    Attributes:
        given: Rows of the blocks of sources, as far as they are known.
        outputs: What came out of a block that a node has finished, by port.
        log: The blocks with rows among them, in the order in which they were finished.
        finished: The nodes that are finished.
        wanted: The leases whose receipt would be accepted.
    """

    def __init__(self, graph: Graph, limits: Limits, dice: random.Random) -> None:
        self._graph, self._limits, self._dice = graph, limits, dice
        self._nodes = {node.id: node for node in graph.nodes}
        self._consumers: dict[str, set[str]] = defaultdict(set)
        for node in graph.nodes:
            for stream in node.inputs:
                self._consumers[stream.node].add(node.id)
        # What a node makes of a row: drops it, keeps it, or makes two of it.
        self._makes = {node.id: dice.choice(((1,), (1,), (0, 1), (0, 1, 2))) for node in graph.nodes}
        self._fates: dict[tuple[str, Row], dict[str, list[Row]] | None] = {}
        self._last_attempt = -1
        self.outputs: dict[Key, dict[str, list[Row]]] = {}
        self.log: list[Key] = []
        self.begin(0)

    def begin(self, forgotten: int) -> None:
        """A driver begins, without the last few blocks of the one before it."""
        self.log = self.log[: len(self.log) - forgotten]
        self.outputs = {key: self.outputs[key] for key in self.log}
        self.given = {node.id: node.blocks for node in self._graph.nodes if node.blocks is not None}
        self.finished: set[str] = set()
        # Finished blocks whose node this driver has come to: an earlier one may have been further.
        self._passed: set[Key] = set()
        self._numbers_of: dict[str, set[int]] = {}
        self.wanted: dict[int, Lease] = {}
        self._touched: set[Key] = set()
        self._pieces: dict[Key, dict[int, tuple[int, dict[str, list[Row]]]]] = defaultdict(dict)
        self._blamed: dict[tuple[str, int, int], int] = defaultdict(int)
        self._settle()

    @property
    def next_attempt(self) -> int:
        """The first attempt of a driver that begins now."""
        return self._last_attempt + 1

    def committed(self) -> Callable[[str, int, int], dict[str, int] | None]:
        """What a driver that begins now is told."""
        committed = {key: {port: len(rows) for port, rows in self.outputs[key].items()} for key in self.log}
        return lambda node, block, _: committed.get((node, block))

    def give(self, node: str, blocks: dict[int, int]) -> None:
        """The blocks of a source are known."""
        self.given[node] = blocks
        self._settle()

    def rows(self, node: str, block: int) -> list[Row] | None:
        """What a node reads of a block; None if it is not all there."""
        if not self._nodes[node].inputs:
            rows = self.given.get(node, {}).get(block)
            return None if rows is None else [(node, block, row) for row in range(rows)]
        whole: list[Row] = []
        for stream in self._nodes[node].inputs:
            if (stream.node, block) not in self._passed:
                return None
            whole += self.outputs[stream.node, block][stream.port]
        return whole

    def made_of(self, task: Task) -> dict[str, list[Row]] | None:
        """What comes out of a task; None if one of its rows kills the worker."""
        rows = self.rows(task.node, task.block)
        assert rows is not None
        made: dict[str, list[Row]] = {port: [] for port in self._nodes[task.node].outputs}
        for row in rows[task.first : task.first + task.rows]:
            fate = self._fate(task.node, row)
            if fate is None:
                return None
            for port, some in fate.items():
                made[port] += some
        return made

    def take_lease(self, lease: Lease, pool: str) -> bool:
        """Check a lease; returns whether it is a copy."""
        task, key = lease.task, (lease.task.node, lease.task.block)
        assert lease.attempt > self._last_attempt, "attempts must grow"
        self._last_attempt = lease.attempt
        assert self._nodes[task.node].pool == pool, "the worker belongs to another pool"
        assert key not in self.outputs, f"{key} is finished"
        assert self._may_begin(self._nodes[task.node]), f"{key} goes before a node that it comes after"
        rows = self.rows(*key)
        assert rows is not None, f"{key} begins before its inputs are there"
        assert task.rows > 0, "a task without rows"
        assert task.first + task.rows <= len(rows), f"{task} has more rows than its input: {len(rows)}"
        for first, (count, _) in self._pieces[key].items():
            assert task.first + task.rows <= first or first + count <= task.first, f"{task} is done"
        others = [other.task for other in self.wanted.values() if (other.task.node, other.task.block) == key]
        same = [other for other in others if (other.first, other.rows) == (task.first, task.rows)]
        assert len(same) < self._limits.copies, f"{task} has too many leases"
        for other in others:
            apart = task.first + task.rows <= other.first or other.first + other.rows <= task.first
            assert apart or other in same, f"{task} and {other} overlap"
        if not same:
            for consumer in self._consumers[task.node]:
                assert self._untouched(consumer) < self._limits.queue, f"{task.node} runs ahead of {consumer}"
        self._touched.add(key)
        self.wanted[lease.attempt] = lease
        return bool(same)

    def accept(self, lease: Lease, made: dict[str, list[Row]]) -> None:
        """A receipt was accepted."""
        self._cover(lease.task, made)

    def blame(self, lease: Lease) -> None:
        """A failure counts against a task, if it is still wanted."""
        task = lease.task
        if lease.attempt in self.wanted and task.rows == 1:
            self._blamed[task.node, task.block, task.first] += 1

    def give_up(self, task: Task) -> None:
        """A row is put in quarantine."""
        assert task.rows == 1, f"{task} is not a single row"
        blamed = self._blamed[task.node, task.block, task.first]
        assert blamed >= self._limits.strikes, f"{task} is given up after {blamed} failures"
        self._cover(task, {port: [] for port in self._nodes[task.node].outputs})

    def same_task(self, lease: Lease) -> set[int]:
        """The other wanted leases of a task."""
        place = lease.task.node, lease.task.block, lease.task.first
        return {
            attempt
            for attempt, other in self.wanted.items()
            if attempt != lease.attempt and (other.task.node, other.task.block, other.task.first) == place
        }

    def _fate(self, node: str, row: Row) -> dict[str, list[Row]] | None:
        """What a node makes of a row: always the same, whoever runs it."""
        if (node, row) not in self._fates:
            ports = self._nodes[node].outputs
            number = self._dice.choice(self._makes[node])
            made = [(*row, copy) for copy in range(number)] if number > 1 else [row] * number
            self._fates[node, row] = {self._dice.choice(ports): made} if ports else {}
            if self._dice.random() < 0.04:
                self._fates[node, row] = None
        return self._fates[node, row]

    def _cover(self, task: Task, made: dict[str, list[Row]]) -> None:
        key = task.node, task.block
        pieces = self._pieces[key]
        assert task.first not in pieces, f"{task} is done twice"
        pieces[task.first] = task.rows, made
        rows = self.rows(*key)
        assert rows is not None
        if sum(count for count, _ in pieces.values()) == len(rows):
            whole: dict[str, list[Row]] = {port: [] for port in made}
            for _, (_, some) in sorted(pieces.items()):
                for port, of_port in some.items():
                    whole[port] += of_port
            self.outputs[key] = whole
            self.log.append(key)
            self._settle()

    def _may_begin(self, node: Node) -> bool:
        return self.finished.issuperset(node.after)

    def _numbers(self, node: Node) -> set[int] | None:
        """The numbers of its blocks; None if they are not known yet."""
        if node.id in self._numbers_of:
            return self._numbers_of[node.id]
        if not node.inputs:
            numbers = set(self.given[node.id]) if node.id in self.given else None
        else:
            of_inputs = [self._numbers(self._nodes[stream.node]) for stream in node.inputs]
            numbers = None if None in of_inputs else of_inputs[0]
        if numbers is not None:
            self._numbers_of[node.id] = numbers
        return numbers

    def _settle(self) -> None:
        """Finish blocks without rows or tasks, and nodes that lack nothing."""
        for node in self._graph.order:
            numbers = self._numbers(node)
            if node.id in self.finished or numbers is None or not self._may_begin(node):
                continue
            keys = {(node.id, block) for block in numbers}
            for key in keys - self._passed:
                rows = self.rows(*key)
                if rows == [] or (rows is not None and node.pool is None):
                    self.outputs[key] = dict.fromkeys(node.outputs, rows)
                if rows is not None and key in self.outputs:
                    self._passed.add(key)
            if self.finished.issuperset(node.upstream) and self._passed.issuperset(keys):
                self.finished.add(node.id)

    def _untouched(self, node: str) -> int:
        """Blocks that could begin at a node, and never have."""
        if not self._may_begin(self._nodes[node]):
            return 0
        keys = [(node, block) for block in self._numbers(self._nodes[node]) or ()]
        return sum(key not in self._touched and key not in self.outputs and bool(self.rows(*key)) for key in keys)
