"""One run of the scheduler over a random graph, with drivers and workers that die, stall and answer twice."""

import heapq
import random
from collections import Counter

import pytest

from jinx_pipeline.schedule.graph import GraphError
from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Cause, Lease, Limits, Verdict
from pipeline.schedule.account import Account
from pipeline.schedule.graphs import GraphMaker

MAX_EVENTS, MAX_RESUMES = 20_000, 20
FAILURES = (Cause.DIED, Cause.FAILED, Cause.TIMEOUT, Cause.NODE_MEMORY)


def simulate(seed: int) -> Counter[str]:
    """Run one random schedule; returns how often what happened.

    Raises:
        AssertionError: The scheduler has lost or repeated something, does not end, or is not what it says.
    """
    simulation = Simulation(seed)
    simulation.run()
    return simulation.seen


class Simulation:
    """Workers, a driver and the time.

    Attributes:
        seen: How often what happened.
    """

    def __init__(self, seed: int) -> None:
        self._dice = dice = random.Random(seed)
        maker = GraphMaker(dice)
        self._graph, self._late = maker.graph(), maker.late
        # Nodes short of memory count at once, or never.
        self._memory_kills = dice.choice((0, 10**9))
        self._limits = Limits(
            strikes=dice.choice((1, 2, 2, 3)),
            queue=dice.randrange(1, 4),
            straggler_seconds=3.0,
            straggler_factor=3.0,
            pieces=dice.choice((2, 4)),
            copies=dice.choice((2, 2, 3)),
            memory_kills=self._memory_kills,
        )
        self._violence = dice.choice((0.0, 0.1, 0.3, 0.6))
        self._driver_dies = dice.choice((0.0, 0.0, 0.01, 0.1))
        pools = sorted({node.pool for node in self._graph.nodes if node.pool is not None})
        self._pools = {f"w{number}-{pool}": pool for pool in pools for number in range(dice.randrange(1, 5))}
        self._account = Account(self._graph, self._limits, dice)
        self._events: list[tuple[float, int, str, Lease | None, str]] = []
        self._ties = 0
        self._now = 0.0
        self.seen: Counter[str] = Counter()
        self._start()

    def run(self) -> None:
        """Run until the scheduler says that all is done."""
        for _ in range(MAX_EVENTS):
            if self._scheduler.finished:
                break
            if self.seen["resume"] < MAX_RESUMES and self._dice.random() < self._driver_dies:
                self._resume()
            self._hand_out()
            self._next_event()
            self._hear_finished()
        assert self._scheduler.finished, "it does not end"
        assert self._account.finished == {node.id for node in self._graph.nodes}, "it ends too early"
        assert not self._account.wanted, "it ends while tasks run"
        for worker, pool in self._pools.items():
            assert self._scheduler.lease(worker, pool, self._now + 1e6) is None

    # The driver.

    def _start(self) -> None:
        account = self._account
        self._scheduler = Scheduler(
            self._graph, self._limits, committed=account.committed(), first_attempt=account.next_attempt
        )
        self._idle = dict.fromkeys(self._pools)
        self._busy: set[str] = set()
        self._ahead: dict[str, Lease] = {}
        self._killed: set[int] = set()
        self._reported: set[str] = set()
        self._asked: set[str] = set()
        for node in self._late:
            if self._dice.random() < 0.1:
                self._asked.add(node)
                self._decide(node)
        self._hear_finished()

    def _resume(self) -> None:
        """The driver dies; the last blocks that it has committed may not be on the disk."""
        self.seen["resume"] += 1
        forgotten = min(self._dice.choice((0, 0, 1, 2)), len(self._account.log))
        self._account.begin(forgotten)
        # Workers of the old driver may still answer.
        leases = [(when, lease) for when, _, _, lease, _ in self._events if lease is not None]
        self._events.clear()
        for when, lease in leases:
            self._push(when, "again", lease)
        self._start()

    def _hear_finished(self) -> None:
        finished = self._scheduler.take_finished()
        assert not self._reported.intersection(finished), "a node is finished twice"
        self._reported.update(finished)
        assert len(set(finished)) == len(finished), "a node is finished twice"
        assert self._reported == self._account.finished, "other nodes are finished"
        for node in self._graph.nodes:
            if node.id in self._late and node.id not in self._asked and self._reported.issuperset(node.after):
                self._asked.add(node.id)
                self._push(self._now + self._dice.choice((0.0, 10.0)), "decided", None, node.id)

    def _decide(self, node: str) -> None:
        self.seen["decided"] += 1
        blocks = self._late[node]
        domain = self._graph.domains[node]
        peers = {other for other in self._account.given if self._graph.domains[other] == domain}
        if peers and self._dice.random() < 0.8:
            self.seen["disagreement"] += 1
            with pytest.raises(GraphError, match="differ"):
                self._scheduler.set_blocks(node, {**blocks, 99: 3})
        self._scheduler.set_blocks(node, blocks)
        self._account.give(node, blocks)

    # Workers.

    def _push(self, when: float, kind: str, lease: Lease | None, worker: str = "") -> None:
        self._ties += 1
        heapq.heappush(self._events, (when, self._ties, kind, lease, worker))

    def _hand_out(self) -> None:
        for worker in list(self._idle):
            pool = self._pools[worker]
            lease = self._scheduler.lease(worker, pool, self._now)
            if lease is None:
                continue
            assert lease.worker == worker
            del self._idle[worker]
            self.seen["copy"] += self._account.take_lease(lease, pool)
            self._begin(lease, worker)
        self._hand_out_ahead()
        self._recall()

    def _hand_out_ahead(self) -> None:
        """Some workers that are at a task have the next one already."""
        for worker, pool in self._pools.items():
            if worker not in self._busy or worker in self._ahead or self._dice.random() < 0.7:
                continue
            lease = self._scheduler.lease(worker, pool, self._now, is_ahead=True)
            if lease is not None:
                assert not self._account.take_lease(lease, pool), "a copy of a straggler waits behind another task"
                self._ahead[worker] = lease
                self.seen["ahead"] += 1

    def _recall(self) -> None:
        """Some of them are for others after all, or their worker is gone with the task before them."""
        for worker, lease in list(self._ahead.items()):
            if self._dice.random() < 0.1:
                self._give_back(worker, lease)

    def _give_back(self, worker: str, lease: Lease) -> None:
        self.seen["given back"] += 1
        del self._ahead[worker]
        del self._account.wanted[lease.attempt]
        self._scheduler.give_back(lease.attempt)
        self._scheduler.give_back(lease.attempt)  # as if it was said twice
        assert not self._scheduler.receipt(lease.attempt, self._scheduler_ports(lease), self._now).accepted

    def _leave(self, worker: str) -> None:
        """A worker has ended a task: the next one begins."""
        lease = self._ahead.pop(worker, None)
        if lease is None:
            self._busy.discard(worker)
            self._idle[worker] = None
        else:
            self._scheduler.begin(lease.attempt, self._now)
            self._begin(lease, worker)

    def _restart(self, worker: str, seconds: float) -> None:
        """A worker is gone, and what it has not begun is for others; another one comes in its place."""
        self._busy.discard(worker)
        if worker in self._ahead:
            self._give_back(worker, self._ahead[worker])
        self._push(self._now + seconds, "back", None, worker)

    def _begin(self, lease: Lease, worker: str) -> None:
        self._busy.add(worker)
        now, dice, violence = self._now, self._dice, self._violence
        takes = 0.1 * lease.task.rows * dice.uniform(0.5, 2)
        chance = dice.random()
        if self._account.made_of(lease.task) is None:
            self._push(now + takes, "dies", lease, worker)
        elif chance < violence / 8:
            self._push(now + takes * dice.random(), "busy", lease, worker)
        elif chance < violence / 3:
            self._push(now + takes * dice.random(), "killed", lease, worker)
        elif chance < violence * 2 / 3:
            self._push(now + takes * dice.random(), "node", lease, worker)
        elif chance < violence:
            ending = dice.choice(("done", "done", "killed"))
            self._push(now + takes + dice.uniform(5, 60), ending, lease, worker)  # a straggler
        else:
            self._push(now + takes, "done", lease, worker)

    def _next_event(self) -> None:
        wake = self._scheduler.next_time()
        if not self._events:
            if not self._scheduler.finished:
                assert wake is not None, "nothing runs, and nothing can begin"
                self._now = max(wake, self._now)
            return
        if wake is not None and self._idle and wake < self._events[0][0]:
            self._now = max(wake, self._now)
        elif self._idle and self._dice.random() < 0.4 and self._events[0][0] > self._now + 3:
            self._now += 3  # workers ask again while a straggler runs
        else:
            self._now, _, kind, lease, worker = heapq.heappop(self._events)
            self._handle(kind, lease, worker)

    def _handle(self, kind: str, lease: Lease | None, worker: str) -> None:
        if kind == "decided":
            self._decide(worker)
        elif lease is None:
            self._idle[worker] = None
        elif kind == "again":
            self.seen["stale"] += 1
            ports = self._scheduler_ports(lease)
            assert not self._scheduler.receipt(lease.attempt, ports, self._now).accepted, "a stale receipt counts"
        elif lease.attempt in self._killed:
            self._restart(worker, 0.0)
        elif kind == "done":
            self._receipt(lease)
            if self._dice.random() < 0.2:
                self._push(self._now + self._dice.uniform(0, 20), "again", lease)
            self._leave(worker)
        elif kind == "busy":
            self.seen["throttled"] += 1
            self._lose(lease, Cause.THROTTLED, self._dice.choice((0.0, 1.0, 20.0)))
            self._leave(worker)
        else:
            cause = Cause.NODE if kind == "node" else self._dice.choice(FAILURES)
            if cause is not Cause.NODE and not (cause is Cause.NODE_MEMORY and self._memory_kills):
                self._account.blame(lease)
            self._lose(lease, cause)
            self._restart(worker, self._dice.uniform(0.1, 5))

    def _scheduler_ports(self, lease: Lease) -> dict[str, int]:
        return dict.fromkeys(next(node.outputs for node in self._graph.nodes if node.id == lease.task.node), 1)

    def _receipt(self, lease: Lease) -> None:
        account = self._account
        if lease.attempt not in account.wanted:
            self.seen["stale"] += 1
            assert not self._scheduler.receipt(lease.attempt, self._scheduler_ports(lease), self._now).accepted
            return
        made = account.made_of(lease.task)
        assert made is not None
        rows = {port: len(some) for port, some in made.items()}
        if self._dice.random() < 0.05:
            self.seen["bad receipt"] += 1
            with pytest.raises(GraphError, match="ports"):
                self._scheduler.receipt(lease.attempt, {**rows, "other": 1}, self._now)
        verdict = self._scheduler.receipt(lease.attempt, rows, self._now)
        assert verdict.accepted, "the first receipt is not accepted"
        assert {loser.attempt for loser in verdict.losers} == account.same_task(lease), "the losers are others"
        self._end(lease, verdict)
        account.accept(lease, made)

    def _lose(self, lease: Lease, cause: Cause, delay: float = 0.0) -> None:
        account = self._account
        verdict = self._scheduler.lost(lease.attempt, cause, self._now, delay=delay)
        assert verdict.accepted == (lease.attempt in account.wanted)
        if not verdict.accepted:
            assert not verdict.losers
            assert verdict.quarantined is None
            return
        if verdict.losers:
            self.seen["losers of a division"] += 1
            assert {loser.attempt for loser in verdict.losers} == account.same_task(lease), "the losers are others"
        self._end(lease, verdict)
        if verdict.quarantined is not None:
            self.seen["quarantined"] += 1
            account.give_up(verdict.quarantined.task)

    def _end(self, lease: Lease, verdict: Verdict) -> None:
        """A lease and its losers end; some workers of losers are not told in time, and answer."""
        del self._account.wanted[lease.attempt]
        for loser in verdict.losers:
            assert self._account.wanted.pop(loser.attempt) is loser
            if self._dice.random() < 0.5:
                self._killed.add(loser.attempt)
