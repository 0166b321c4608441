"""What happens to the tasks of a node: leases, failures, division, copies, pauses."""

import pytest

from jinx_pipeline.schedule.graph import Graph, Node
from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Cause, Limits, RefusedError
from pipeline.schedule.graphs import chain


def take(scheduler, worker="w", pool="cpu", now=0.0):
    lease = scheduler.lease(worker, pool, now)
    assert lease is not None
    return lease


def receipt(scheduler, lease, rows, now=0.0):
    return scheduler.receipt(lease.attempt, {"out": rows}, now)


def lost(scheduler, lease, cause, now=0.0, **more):
    """Returns the row that is given up."""
    return scheduler.lost(lease.attempt, cause, now, **more).quarantined


def test_blocks_come_in_order_and_end():
    scheduler = chain([10, 20])
    first, second = take(scheduler), take(scheduler)
    assert (first.task.block, first.task.rows, second.task.block, second.task.rows) == (0, 10, 1, 20)
    assert scheduler.lease("w", "cpu", 0.0) is None
    assert receipt(scheduler, second, 5, 1.0).accepted
    assert not scheduler.finished
    assert receipt(scheduler, first, 0, 1.0).accepted
    assert scheduler.finished


def test_a_second_receipt_is_stale():
    scheduler = chain([10])
    lease = take(scheduler)
    assert receipt(scheduler, lease, 1, 1.0).accepted
    assert not receipt(scheduler, lease, 1, 1.0).accepted
    assert not scheduler.receipt(99, {"out": 1}, 1.0).accepted


def test_a_receipt_after_the_worker_was_given_up_is_stale():
    scheduler = chain([10])
    old = take(scheduler)
    scheduler.lost(old.attempt, Cause.NODE, 0.0)
    new = take(scheduler, now=10.0)
    assert new.attempt != old.attempt
    assert not receipt(scheduler, old, 10, 11.0).accepted
    assert receipt(scheduler, new, 10, 11.0).accepted


def test_lost_nodes_never_count_against_a_block_and_wait_longer_each_time():
    scheduler = chain([1])
    now, delays = 0.0, []
    for _ in range(40):
        lease = take(scheduler, now=now)
        assert lost(scheduler, lease, Cause.NODE, now) is None
        wake = scheduler.next_time()
        assert wake is not None
        assert scheduler.lease("w", "cpu", wake - 0.01) is None
        delays.append(wake - now)
        now = wake
    assert delays[:3] == pytest.approx([0.5, 1.0, 2.0])
    assert max(delays) == pytest.approx(60.0)
    assert receipt(scheduler, take(scheduler, now=now), 1, now).accepted
    assert scheduler.finished


@pytest.mark.parametrize("cause", [Cause.DIED, Cause.TIMEOUT])
def test_the_row_that_kills_its_worker_is_found_and_given_up_alone(cause):
    rows, deadly = 1920, 777
    scheduler = chain([rows])
    deaths, delivered, given_up = 0, 0, []
    while not scheduler.finished:
        lease = take(scheduler)
        task = lease.task
        if task.first <= deadly < task.first + task.rows:
            deaths += 1
            given_up.append(lost(scheduler, lease, cause))
        else:
            delivered += task.rows
            receipt(scheduler, lease, task.rows, 0.0)
    assert [(row.task.first, row.task.rows, row.cause) for row in given_up if row] == [(deadly, 1, cause)]
    assert delivered == rows - 1
    assert deaths <= 2 + 11  # log2(1920) is 10.9


def test_a_death_by_memory_halves_the_batches_once():
    scheduler = chain([100])
    scheduler.lost(take(scheduler).attempt, Cause.MEMORY, 0.0)
    lease = take(scheduler)
    assert (lease.task.rows, lease.task.batch_share) == (100, 2)
    for _ in range(2):
        scheduler.lost(lease.attempt, Cause.MEMORY, 0.0)
        lease = take(scheduler)
    assert (lease.task.rows, lease.task.batch_share) == (25, 2)


def test_a_node_short_of_memory_is_waited_for_and_counts_only_when_it_stays_so():
    scheduler = chain([2])
    now, delays = 0.0, []
    for share in (1, 2, 2, 2, 2, 2):
        lease = take(scheduler, now=now)
        assert (lease.task.rows, lease.task.batch_share) == (2, share)
        assert lost(scheduler, lease, Cause.NODE_MEMORY, now) is None
        delays.append(scheduler.next_time() - now)
        now = scheduler.next_time()
    assert delays == pytest.approx([0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
    scheduler.lost(take(scheduler, now=now).attempt, Cause.NODE_MEMORY, now)
    assert scheduler.next_time() == pytest.approx(now + 16)
    scheduler.lost(take(scheduler, now=now + 16).attempt, Cause.NODE_MEMORY, now)
    # Divided, like any task that fails; a single row is waited for again.
    lease = take(scheduler, now=now)
    assert lease.task.rows == 1
    scheduler.lost(lease.attempt, Cause.NODE_MEMORY, now)
    assert scheduler.next_time() == pytest.approx(now + 0.5)


def test_the_last_try_of_a_row_is_known_as_such():
    scheduler = chain([2])
    for _ in range(2):
        lease = take(scheduler)
        assert (lease.task.rows, lease.is_last_try) == (2, False)
        scheduler.lost(lease.attempt, Cause.DIED, 0.0)
    for is_last in (False, True):
        lease = take(scheduler)
        assert (lease.task.rows, lease.task.first, lease.is_last_try) == (1, 0, is_last)
        given_up = lost(scheduler, lease, Cause.DIED)
    assert given_up.task.first == 0
    assert not take(scheduler).is_last_try


def test_a_copy_of_a_single_row_is_its_last_try():
    scheduler = chain([1, 1])
    receipt(scheduler, take(scheduler), 1, 0.1)
    assert not take(scheduler, now=0.1).is_last_try
    assert take(scheduler, "w1", now=100.0).is_last_try


def test_a_throttled_task_waits_as_long_as_asked_and_gets_no_strike():
    scheduler = chain([1])
    for turn in range(5):
        lease = take(scheduler, now=turn * 7.0)
        assert lost(scheduler, lease, Cause.THROTTLED, turn * 7.0, delay=7.0) is None
        assert scheduler.next_time() == pytest.approx(turn * 7.0 + 7.0)


def test_a_service_that_keeps_refusing_ends_it_unless_others_get_through():
    scheduler = chain([1, 1], limits=Limits(throttles=3))
    lease, other = take(scheduler), take(scheduler, "w1")
    scheduler.lost(lease.attempt, Cause.THROTTLED, 0.0, delay=1.0)
    receipt(scheduler, other, 1, 0.5)  # the service works, so the count begins again
    for now in (1.0, 2.0):
        assert lost(scheduler, take(scheduler, now=now), Cause.THROTTLED, now, delay=1.0) is None
    with pytest.raises(RefusedError):
        scheduler.lost(take(scheduler, now=3.0).attempt, Cause.THROTTLED, 3.0)


def test_a_busy_service_pauses_its_node_and_then_gets_half_as_much():
    scheduler = chain([1] * 12)
    leases = [take(scheduler, f"w{n}") for n in range(4)]
    for lease in leases[:3]:  # all are told the same; it counts once
        scheduler.lost(lease.attempt, Cause.THROTTLED, 1.0, delay=5.0)
    assert scheduler.lease("w0", "cpu", 5.9) is None
    assert scheduler.next_time() == pytest.approx(6.0)
    second = take(scheduler, "w0", now=6.0)
    assert scheduler.lease("w1", "cpu", 6.0) is None  # one of the four is still under way
    receipt(scheduler, leases[3], 1, 7.0)
    receipt(scheduler, second, 1, 7.0)
    assert len([one for n in range(9) if (one := scheduler.lease(f"w{n}", "cpu", 7.0))]) == 4


def test_a_straggler_gets_one_copy_and_the_first_receipt_wins():
    scheduler = chain([10, 10])
    slow = take(scheduler, "slow")
    quick = take(scheduler, "quick")
    receipt(scheduler, quick, 10, 1.0)
    assert scheduler.lease("quick", "cpu", 4.0) is None
    copy = take(scheduler, "quick", now=6.0)
    assert copy.task == slow.task
    assert scheduler.lease("third", "cpu", 60.0) is None
    assert receipt(scheduler, copy, 10, 7.0).losers == (slow,)
    assert not receipt(scheduler, slow, 10, 8.0).accepted
    assert scheduler.finished


def test_a_node_pauses_when_the_next_one_does_not_keep_up():
    scheduler = chain([1] * 10, ["cpu", "gpu"], Limits(queue=2))
    made = 0
    while (lease := scheduler.lease("c", "cpu", 0.0)) is not None:
        receipt(scheduler, lease, 1, 0.0)
        made += 1
    assert made == 2
    receipt(scheduler, take(scheduler, "g", "gpu"), 1, 0.0)
    assert scheduler.lease("c", "cpu", 0.0) is not None


def test_the_copies_of_a_divided_task_lose():
    scheduler = chain([10, 10])
    receipt(scheduler, take(scheduler), 10, 1.0)
    first = take(scheduler)
    scheduler.lost(first.attempt, Cause.DIED, 1.0)
    slow = take(scheduler, "slow", now=1.0)
    copy = take(scheduler, "quick", now=60.0)
    verdict = scheduler.lost(copy.attempt, Cause.DIED, 61.0)
    assert (verdict.accepted, verdict.losers, verdict.quarantined) == (True, (slow,), None)
    assert not scheduler.lost(slow.attempt, Cause.DIED, 62.0).accepted
    assert [take(scheduler).task.rows for _ in range(4)] == [2, 3, 2, 3]


def test_a_worker_gets_no_copy_of_its_own_task_but_one_of_the_next():
    scheduler = chain([10, 10, 10])
    receipt(scheduler, take(scheduler), 10, 1.0)
    mine, other = take(scheduler, "mine", now=1.0), take(scheduler, "other", now=2.0)
    copy = take(scheduler, "mine", now=60.0)
    assert copy.task == other.task
    assert take(scheduler, "third", now=60.0).task == mine.task


def test_a_short_straggler_behind_a_long_one_waits_at_most_twice_as_long():
    scheduler = chain([10, 15, 8], limits=Limits(straggler_seconds=0.0, straggler_factor=4.0))
    receipt(scheduler, take(scheduler), 10, 10.0)  # a second a row, so they are late after 60 and 32
    take(scheduler, "long", now=10.0)
    short = take(scheduler, "short", now=10.0)
    assert scheduler.lease("w", "cpu", 42.0) is None
    copies = [take(scheduler, "w", now=71.0), take(scheduler, "x", now=71.0)]
    assert short.task in [copy.task for copy in copies]


def test_a_straggler_whose_copy_died_gets_another():
    scheduler = chain([10, 10], limits=Limits(strikes=5))
    receipt(scheduler, take(scheduler), 10, 1.0)
    slow = take(scheduler, "slow", now=1.0)
    for now in (60.0, 120.0):
        copy = take(scheduler, "quick", now=now)
        assert copy.task == slow.task
        assert scheduler.lease("third", "cpu", now) is None
        scheduler.lost(copy.attempt, Cause.DIED, now)


def test_a_node_may_have_its_own_number_of_strikes():
    scheduler = Scheduler(Graph((Node("look", blocks={0: 1}, strikes=3),)))
    for strike in range(3):
        lease = scheduler.lease("w", "cpu", 0.0)
        assert lease.is_last_try == (strike == 2)
        verdict = scheduler.lost(lease.attempt, Cause.DIED, 0.0)
        assert (verdict.quarantined is not None) == (strike == 2)
