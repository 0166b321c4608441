"""One run of the scheduler against workers that die, stall, vanish with their node and answer twice."""

import heapq
import random
from dataclasses import dataclass, field

from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Cause, Lease, Limits, Verdict

MAX_EVENTS = 20_000


@dataclass
class Outcome:
    """What came out of one run."""

    lost: int = 0
    duplicated: int = 0
    stuck: bool = False
    wrongly_given_up: int = 0
    deaths: int = 0
    delivered: list[set[int]] = field(default_factory=list)


def simulate(seed: int) -> Outcome:  # noqa: C901, PLR0912, PLR0915 - one loop over one list of events
    """Run one random schedule; rows that kill their worker are the only ones that may be missing at the end."""
    dice = random.Random(seed)
    stages = dice.choice((1, 1, 2, 3))
    pools = [f"p{dice.randrange(2)}" for _ in range(stages)]
    blocks = [dice.randrange(1, 9) for _ in range(dice.randrange(1, 7))]
    deadly = {(b, r) for b, rows in enumerate(blocks) for r in range(rows) if dice.random() < 0.04}
    # Nodes short of memory count at once, or never.
    memory_kills = dice.choice((0, 10**9))
    limits = Limits(
        queue=dice.randrange(1, 4),
        straggler_seconds=3.0,
        straggler_factor=3.0,
        pieces=dice.choice((2, 4)),
        memory_kills=memory_kills,
    )
    scheduler = Scheduler(blocks, pools, limits)
    outcome = Outcome(delivered=[set() for _ in blocks])
    # What came out of each stage of each block: pieces (first, rows), in terms of rows of the input.
    inputs: dict[tuple[int, int], list[int]] = {(0, b): list(range(rows)) for b, rows in enumerate(blocks)}
    outputs: dict[tuple[int, int], dict[int, list[int]]] = {}
    covered: dict[tuple[int, int], int] = {}
    blamed: dict[tuple[int, int, int], int] = {}
    events: list[tuple[float, int, str, Lease | None, str]] = []
    ties = 0
    idle = {f"w{i}-{pool}": pool for pool in set(pools) for i in range(dice.randrange(1, 4))}
    violence = dice.choice((0.0, 0.1, 0.3))
    now, steps = 0.0, 0

    def push(when: float, kind: str, lease: Lease | None, worker: str) -> None:
        nonlocal ties
        ties += 1
        heapq.heappush(events, (when, ties, kind, lease, worker))

    def rows_of(lease: Lease) -> list[int]:
        task = lease.task
        return inputs[task.stage, task.block][task.first : task.first + task.rows]

    def close(stage: int, block: int, rows: int) -> None:
        key = stage, block
        covered[key] = covered.get(key, 0) + rows
        if covered[key] < len(inputs[key]):
            return
        whole = [row for _, piece in sorted(outputs.get(key, {}).items()) for row in piece]
        inputs[stage + 1, block] = whole
        if stage + 1 == stages:
            outcome.duplicated += len(whole) - len(set(whole))
            outcome.delivered[block] = set(whole)

    while not scheduler.finished:
        steps += 1
        if steps > MAX_EVENTS:
            outcome.stuck = True
            return outcome
        for worker in list(idle):
            lease = scheduler.lease(worker, idle[worker], now)
            if lease is None:
                continue
            pool = idle.pop(worker)
            takes = 0.1 * lease.task.rows * dice.uniform(0.5, 2)
            dies = any((lease.task.block, row) in deadly for row in rows_of(lease))
            chance = dice.random()
            if dies:
                push(now + takes, "dies", lease, worker)
            elif chance < violence / 8:
                push(now + takes * dice.random(), "busy", lease, worker)
            elif chance < violence / 3:
                push(now + takes * dice.random(), "killed", lease, worker)
            elif chance < violence * 2 / 3:
                push(now + takes * dice.random(), "node", lease, worker)
            elif chance < violence:
                push(now + takes + dice.uniform(5, 60), "done", lease, worker)  # a straggler
            else:
                push(now + takes, "done", lease, worker)
            del pool
        if not events:
            wake = scheduler.next_time()
            if wake is None:
                outcome.stuck = True
                return outcome
            now = wake
            continue
        wake = scheduler.next_time()
        if wake is not None and idle and wake < events[0][0]:
            now = wake
            continue
        if idle and dice.random() < 0.2 and events[0][0] > now + 3:
            now += 3  # workers ask again while a straggler runs
            continue
        now, _, kind, lease, worker = heapq.heappop(events)
        if kind == "again":
            assert lease is not None
            assert scheduler.receipt(lease.attempt, len(rows_of(lease)), now) is Verdict.STALE
            continue
        if kind == "back":
            idle[worker] = worker.rsplit("-", 1)[1]
            continue
        assert lease is not None
        task = lease.task
        if kind == "done":
            rows = rows_of(lease)
            if scheduler.receipt(lease.attempt, len(rows), now) is Verdict.ACCEPTED:
                outputs.setdefault((task.stage, task.block), {})[task.first] = rows
                close(task.stage, task.block, task.rows)
            if dice.random() < 0.2:
                push(now + dice.uniform(0, 20), "again", lease, worker)
            idle[worker] = worker.rsplit("-", 1)[1]
            continue
        if kind == "busy":
            assert scheduler.lost(lease.attempt, Cause.THROTTLED, now, delay=dice.choice((0.0, 1.0, 20.0))) == []
            idle[worker] = worker.rsplit("-", 1)[1]
            continue
        wanted = scheduler.is_wanted(lease.attempt)
        cause = (
            Cause.NODE if kind == "node" else dice.choice((Cause.DIED, Cause.FAILED, Cause.TIMEOUT, Cause.NODE_MEMORY))
        )
        counts = cause is not Cause.NODE and not (cause is Cause.NODE_MEMORY and memory_kills)
        if counts and wanted and task.rows == 1:
            row = rows_of(lease)[0]
            blamed[task.stage, task.block, row] = blamed.get((task.stage, task.block, row), 0) + 1
        outcome.deaths += kind != "node"
        for given_up in scheduler.lost(lease.attempt, cause, now):
            one = given_up.task
            row = inputs[one.stage, one.block][one.first]
            if blamed.get((one.stage, one.block, row), 0) < limits.strikes:
                outcome.wrongly_given_up += 1
            outcome.delivered[one.block].discard(row)
            deadly.add((one.block, row))
            close(one.stage, one.block, 1)
        push(now + dice.uniform(0.1, 5), "back", None, worker)
    for block, rows in enumerate(blocks):
        last = inputs.get((stages, block), [])
        missing = set(range(rows)) - set(last) - {row for b, row in deadly if b == block}
        outcome.lost += len(missing)
    return outcome
