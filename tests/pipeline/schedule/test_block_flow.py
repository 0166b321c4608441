"""When a block enters a node, and when a node is finished."""

import random
import time

import pytest

from jinx_pipeline.schedule.graph import Graph, GraphError, Node, Stream
from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Limits
from pipeline.schedule.graphs import chain


def scheduler_of(*nodes, **more):
    return Scheduler(Graph(nodes), **more)


def take(scheduler, pool="cpu", now=0.0):
    lease = scheduler.lease("w", pool, now)
    return None if lease is None else (lease.task.node, lease.task.block, lease.task.rows, lease.attempt)


def committed(rows):
    return lambda node, block, _: rows.get((node, block))


def run(scheduler, pool="cpu", **rows):
    """Take a task and finish it; returns its node, block and rows."""
    task = take(scheduler, pool)
    if task is None:
        return None
    assert scheduler.receipt(task[3], rows or {"out": task[2]}, 0.0).accepted
    return task[:3]


def diamond(blocks, **more):
    return scheduler_of(
        Node("filter", blocks=blocks, outputs=("kept", "dropped")),
        Node("a", inputs=(Stream("filter", "kept"),)),
        Node("union", "end", inputs=(Stream("a"), Stream("filter", "dropped"))),
        **more,
    )


def test_a_block_enters_when_all_its_inputs_are_there_with_their_rows():
    scheduler = diamond({0: 10, 1: 10})
    assert run(scheduler, kept=4, dropped=6) == ("filter", 0, 10)
    assert take(scheduler, "end") is None
    assert run(scheduler) == ("a", 0, 4)
    assert run(scheduler, "end") == ("union", 0, 10)
    assert run(scheduler, kept=0, dropped=10) == ("filter", 1, 10)
    assert run(scheduler, "end") == ("union", 1, 10)  # nothing for a
    assert scheduler.finished
    assert scheduler.take_finished() == ["filter", "a", "union"]
    assert scheduler.take_finished() == []


def test_a_branch_that_is_slow_holds_back_who_feeds_it_and_nobody_else():
    scheduler = scheduler_of(
        Node("source", "source", blocks=dict.fromkeys(range(9), 1)),
        Node("quick", "quick", inputs=(Stream("source"),)),
        Node("slow", "slow", inputs=(Stream("source"),)),
        Node("union", "union", inputs=(Stream("quick"), Stream("slow"))),
        limits=Limits(queue=2),
    )
    for _ in range(20):
        run(scheduler, "source")
        run(scheduler, "quick")
    # Two blocks wait for the slow branch, and it has none in hand.
    assert take(scheduler, "source") is None
    assert run(scheduler, "slow") == ("slow", 0, 1)
    assert run(scheduler, "source") == ("source", 2, 1)
    while any(run(scheduler, pool) for pool in ("union", "slow", "quick", "source")):
        pass
    assert scheduler.finished


def test_two_sources_that_meet_advance_together():
    scheduler = scheduler_of(
        Node("a", blocks={0: 1, 1: 1}), Node("b", blocks={0: 2, 1: 2}), Node("union", inputs=(Stream("a"), Stream("b")))
    )
    steps = []
    while (step := run(scheduler)) is not None:
        steps.append(step)
    assert [block for _, block, _ in steps] == [0, 0, 0, 1, 1, 1]
    assert steps[2] == ("union", 0, 3)


def test_a_barrier_waits_for_both_branches_and_its_blocks_come_later():
    scheduler = scheduler_of(
        Node("a", "a", blocks={0: 1}),
        Node("b", "b", blocks={7: 1}),
        Node("look", after=("a", "b")),
        Node("again", inputs=(Stream("a"),), after=("look",)),
    )
    run(scheduler, "a")
    assert scheduler.take_finished() == ["a"]
    scheduler.set_blocks("look", {0: 5, 1: 0})
    assert take(scheduler) is None
    run(scheduler, "b")
    assert scheduler.take_finished() == ["b"]
    assert run(scheduler) == ("look", 0, 5)
    assert scheduler.take_finished() == ["look"]
    assert run(scheduler) == ("again", 0, 1)
    assert scheduler.finished


def test_a_source_whose_blocks_are_not_known_is_not_finished():
    scheduler = scheduler_of(Node("look"), Node("next", inputs=(Stream("look"),)), Node("last", after=("next",)))
    assert (scheduler.finished, scheduler.take_finished(), take(scheduler)) == (False, [], None)
    scheduler.set_blocks("look", {})
    assert scheduler.take_finished() == ["look", "next"]
    scheduler.set_blocks("last", {0: 0})
    assert scheduler.finished


def test_a_node_without_blocks_is_finished_only_after_those_before_it():
    scheduler = scheduler_of(
        Node("a", blocks={0: 1}), Node("empty", after=("a",), blocks={}), Node("c", after=("empty",))
    )
    scheduler.set_blocks("c", {0: 1})
    assert scheduler.take_finished() == []
    assert run(scheduler) == ("a", 0, 1)
    assert scheduler.take_finished() == ["a", "empty"]
    assert run(scheduler) == ("c", 0, 1)


def test_blocks_that_differ_are_refused_and_nothing_is_lost():
    scheduler = scheduler_of(
        Node("a", blocks={0: 1, 1: 1}), Node("b", "b"), Node("union", "u", inputs=(Stream("a"), Stream("b")))
    )
    with pytest.raises(GraphError, match=r"node 'b' meets 'a' further down.*'a' has a block 1, 'b' does not"):
        scheduler.set_blocks("b", {0: 1})
    with pytest.raises(GraphError, match="node 'b': block 1 with -2 rows is invalid"):
        scheduler.set_blocks("b", {0: 1, 1: -2})
    with pytest.raises(GraphError, match=r"node 'union' reads 'a.out', so its blocks cannot be given"):
        scheduler.set_blocks("union", {0: 1})
    with pytest.raises(GraphError, match="there is no node 'c'"):
        scheduler.set_blocks("c", {0: 1})
    scheduler.set_blocks("b", {1: 2, 0: 2})
    with pytest.raises(GraphError, match="the blocks of node 'b' were given before"):
        scheduler.set_blocks("b", {1: 2, 0: 2})
    while any(run(scheduler, pool) for pool in ("cpu", "b")):
        pass
    assert [run(scheduler, "u") for _ in range(3)] == [("union", 0, 3), ("union", 1, 3), None]
    assert scheduler.finished


@pytest.mark.parametrize("rows", [{}, {"out": 1}, {"kept": 1}, {"kept": 1, "dropped": 1, "out": 1}])
def test_a_receipt_without_the_ports_of_its_node_is_refused_and_its_lease_stays(rows):
    scheduler = diamond({0: 10})
    attempt = take(scheduler)[3]
    with pytest.raises(GraphError, match=r"node 'filter' has the ports \['kept', 'dropped'\]"):
        scheduler.receipt(attempt, rows, 0.0)
    assert scheduler.receipt(attempt, {"kept": 0, "dropped": 0}, 0.0).accepted
    assert scheduler.finished


def test_blocks_that_an_earlier_run_committed_are_not_handed_out():
    done = {("0", 0): 4, ("1", 0): 4, ("0", 1): 3, ("0", 2): 0}
    done = {key: {"out": rows} for key, rows in done.items()}
    scheduler = chain([5, 5, 5], ["a", "b"], committed=committed(done), first_attempt=50)
    assert scheduler.take_finished() == ["0"]
    assert take(scheduler, "a") is None
    node, block, rows, attempt = take(scheduler, "b")
    assert (node, block, rows, attempt) == ("1", 1, 3, 50)
    scheduler.receipt(attempt, {"out": 3}, 0.0)
    assert scheduler.finished


def test_what_was_committed_after_a_barrier_counts_when_its_blocks_are_given_again():
    nodes = Node("a", blocks={0: 1}), Node("look", after=("a",)), Node("end", inputs=(Stream("look"),))
    scheduler = scheduler_of(*nodes, committed=committed({("a", 0): {"out": 1}, ("look", 1): {"out": 5}}))
    assert scheduler.take_finished() == ["a"]
    scheduler.set_blocks("look", {0: 2, 1: 3})
    assert [run(scheduler), run(scheduler), run(scheduler)] == [("end", 1, 5), ("look", 0, 2), ("end", 0, 2)]
    assert scheduler.finished


def test_what_was_committed_with_other_ports_is_refused():
    with pytest.raises(GraphError, match="node '0' has the ports"):
        chain([5], committed=committed({("0", 0): {"left": 1}}))


def test_what_was_committed_is_asked_for_with_the_rows_that_arrive():
    asked = []
    scheduler = chain([5, 0], ["a", "b"], committed=lambda *block: asked.append(block))
    assert run(scheduler, "a", out=3) == ("0", 0, 5)
    assert asked == [("0", 0, 5), ("1", 0, 3)]


def test_blocks_pass_through_a_node_without_tasks():
    nodes = (
        Node("in", None, blocks={0: 3, 1: 4}),
        Node("a", inputs=(Stream("in"),)),
        Node("decide", None, after=("a",)),
        Node("b", inputs=(Stream("decide"),)),
    )
    scheduler = scheduler_of(*nodes)
    assert scheduler.take_finished() == ["in"]
    assert [run(scheduler), run(scheduler), run(scheduler)] == [("a", 0, 3), ("a", 1, 4), None]
    assert scheduler.take_finished() == ["a"]
    scheduler.set_blocks("decide", {0: 5})
    assert [run(scheduler), run(scheduler)] == [("b", 0, 5), None]
    assert scheduler.take_finished() == ["decide", "b"]
    assert scheduler.finished


def test_the_cost_of_a_task_does_not_grow_with_blocks_and_workers():
    """Measured: more than 40,000 receipts a second."""
    scheduler, dice = chain([100] * 20_000), random.Random(0)
    idle, running, receipts = [f"w{number}" for number in range(12_800)], [], 0
    begun = time.process_time()
    while not scheduler.finished:
        now = receipts / 1000
        # The first tasks are stragglers, looked for each time.
        while idle and (lease := scheduler.lease(idle[-1], "cpu", now)) is not None:
            running.append(lease)
            idle.pop()
        place = dice.randrange(len(running))
        running[place], running[-1] = running[-1], running[place]
        lease = running.pop()
        if scheduler.receipt(lease.attempt, {"out": 100}, now).accepted:
            receipts += 1
        idle.append(lease.worker)
    assert receipts == 20_000
    assert receipts / (time.process_time() - begun) > 5_000
