"""The state machine, case by case and by simulation."""

import os

import pytest

from jinx_pipeline.schedule.scheduler import Scheduler
from jinx_pipeline.schedule.task import Cause, Limits, RefusedError, Verdict
from pipeline.schedule.simulation import simulate

# 100,000 take a minute; every run of the suite tries other ones than the first few.
SCHEDULES = 100_000 if os.environ.get("JINX_SOAK") else 3_000


def take(scheduler, worker="w", pool="cpu", now=0.0):
    lease = scheduler.lease(worker, pool, now)
    assert lease is not None
    return lease


def test_blocks_come_in_order_and_end():
    scheduler = Scheduler([10, 20])
    first, second = take(scheduler), take(scheduler)
    assert (first.task.block, first.task.rows, second.task.block, second.task.rows) == (0, 10, 1, 20)
    assert scheduler.lease("w", "cpu", 0.0) is None
    assert scheduler.receipt(second.attempt, 5, 1.0) is Verdict.ACCEPTED
    assert not scheduler.finished
    assert scheduler.receipt(first.attempt, 0, 1.0) is Verdict.ACCEPTED
    assert scheduler.finished


def test_a_second_receipt_is_stale():
    scheduler = Scheduler([10])
    lease = take(scheduler)
    assert scheduler.receipt(lease.attempt, 1, 1.0) is Verdict.ACCEPTED
    assert scheduler.receipt(lease.attempt, 1, 1.0) is Verdict.STALE
    assert scheduler.receipt(99, 1, 1.0) is Verdict.STALE


def test_a_receipt_after_the_worker_was_given_up_is_stale():
    scheduler = Scheduler([10])
    old = take(scheduler)
    scheduler.lost(old.attempt, Cause.NODE, 0.0)
    new = take(scheduler, now=10.0)
    assert new.attempt != old.attempt
    assert scheduler.receipt(old.attempt, 10, 11.0) is Verdict.STALE
    assert scheduler.receipt(new.attempt, 10, 11.0) is Verdict.ACCEPTED


def test_lost_nodes_never_count_against_a_block_and_wait_longer_each_time():
    scheduler = Scheduler([1])
    now, delays = 0.0, []
    for _ in range(40):
        lease = take(scheduler, now=now)
        assert scheduler.lost(lease.attempt, Cause.NODE, now) == []
        wake = scheduler.next_time()
        assert wake is not None
        assert scheduler.lease("w", "cpu", wake - 0.01) is None
        delays.append(wake - now)
        now = wake
    assert delays[:3] == pytest.approx([0.5, 1.0, 2.0])
    assert max(delays) == pytest.approx(60.0)
    assert scheduler.receipt(take(scheduler, now=now).attempt, 1, now) is Verdict.ACCEPTED
    assert scheduler.finished


@pytest.mark.parametrize("cause", [Cause.DIED, Cause.TIMEOUT])
def test_the_row_that_kills_its_worker_is_found_and_given_up_alone(cause):
    rows, deadly = 1920, 777
    scheduler = Scheduler([rows])
    deaths, delivered, given_up = 0, 0, []
    while not scheduler.finished:
        lease = take(scheduler)
        task = lease.task
        if task.first <= deadly < task.first + task.rows:
            deaths += 1
            given_up += scheduler.lost(lease.attempt, cause, 0.0)
        else:
            delivered += task.rows
            scheduler.receipt(lease.attempt, task.rows, 0.0)
    assert [(one.task.first, one.task.rows, one.cause) for one in given_up] == [(deadly, 1, cause)]
    assert delivered == rows - 1
    assert deaths <= 2 + 11  # log2(1920) is 10.9


def test_a_death_by_memory_halves_the_batches_once():
    scheduler = Scheduler([100])
    scheduler.lost(take(scheduler).attempt, Cause.MEMORY, 0.0)
    lease = take(scheduler)
    assert (lease.task.rows, lease.task.batch_share) == (100, 2)
    for _ in range(2):
        scheduler.lost(lease.attempt, Cause.MEMORY, 0.0)
        lease = take(scheduler)
    assert (lease.task.rows, lease.task.batch_share) == (25, 2)


def test_a_node_short_of_memory_is_waited_for_and_counts_only_when_it_stays_so():
    scheduler = Scheduler([2])
    now, delays = 0.0, []
    for share in (1, 2, 2, 2, 2, 2):
        lease = take(scheduler, now=now)
        assert (lease.task.rows, lease.task.batch_share) == (2, share)
        assert scheduler.lost(lease.attempt, Cause.NODE_MEMORY, now) == []
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
    scheduler = Scheduler([2])
    for _ in range(2):
        lease = take(scheduler)
        assert (lease.task.rows, lease.is_last_try) == (2, False)
        scheduler.lost(lease.attempt, Cause.DIED, 0.0)
    for is_last in (False, True):
        lease = take(scheduler)
        assert (lease.task.rows, lease.task.first, lease.is_last_try) == (1, 0, is_last)
        given_up = scheduler.lost(lease.attempt, Cause.DIED, 0.0)
    assert [one.task.first for one in given_up] == [0]
    assert not take(scheduler).is_last_try


def test_a_copy_of_a_single_row_is_its_last_try():
    scheduler = Scheduler([1, 1])
    scheduler.receipt(take(scheduler).attempt, 1, 0.1)
    assert not take(scheduler, now=0.1).is_last_try
    assert take(scheduler, "w1", now=100.0).is_last_try


def test_a_throttled_task_waits_as_long_as_asked_and_gets_no_strike():
    scheduler = Scheduler([1])
    for turn in range(5):
        lease = take(scheduler, now=turn * 7.0)
        assert scheduler.lost(lease.attempt, Cause.THROTTLED, turn * 7.0, delay=7.0) == []
        assert scheduler.next_time() == pytest.approx(turn * 7.0 + 7.0)


def test_a_service_that_keeps_refusing_ends_it_unless_others_get_through():
    scheduler = Scheduler([1, 1], limits=Limits(throttles=3))
    lease, other = take(scheduler), take(scheduler, "w1")
    scheduler.lost(lease.attempt, Cause.THROTTLED, 0.0, delay=1.0)
    scheduler.receipt(other.attempt, 1, 0.5)  # the service works, so the count begins again
    for now in (1.0, 2.0):
        assert scheduler.lost(take(scheduler, now=now).attempt, Cause.THROTTLED, now, delay=1.0) == []
    with pytest.raises(RefusedError):
        scheduler.lost(take(scheduler, now=3.0).attempt, Cause.THROTTLED, 3.0)


def test_a_busy_service_pauses_its_stage_and_then_gets_half_as_much():
    scheduler = Scheduler([1] * 12)
    leases = [take(scheduler, f"w{n}") for n in range(4)]
    for lease in leases[:3]:  # all are told the same; it counts once
        scheduler.lost(lease.attempt, Cause.THROTTLED, 1.0, delay=5.0)
    assert scheduler.lease("w0", "cpu", 5.9) is None
    assert scheduler.next_time() == pytest.approx(6.0)
    second = take(scheduler, "w0", now=6.0)
    assert scheduler.lease("w1", "cpu", 6.0) is None  # one of the four is still under way
    scheduler.receipt(leases[3].attempt, 1, 7.0)
    scheduler.receipt(second.attempt, 1, 7.0)
    assert len([one for n in range(9) if (one := scheduler.lease(f"w{n}", "cpu", 7.0))]) == 4


def test_a_straggler_gets_one_copy_and_the_first_receipt_wins():
    scheduler = Scheduler([10, 10])
    slow = take(scheduler, "slow")
    quick = take(scheduler, "quick")
    scheduler.receipt(quick.attempt, 10, 1.0)
    assert scheduler.lease("quick", "cpu", 4.0) is None
    copy = take(scheduler, "quick", now=6.0)
    assert copy.task == slow.task
    assert scheduler.lease("third", "cpu", 60.0) is None
    assert scheduler.receipt(copy.attempt, 10, 7.0) is Verdict.ACCEPTED
    assert scheduler.receipt(slow.attempt, 10, 8.0) is Verdict.STALE
    assert scheduler.finished


def test_a_stage_pauses_when_the_next_one_does_not_keep_up():
    scheduler = Scheduler([1] * 10, ["cpu", "gpu"], Limits(queue=2))
    made = 0
    while (lease := scheduler.lease("c", "cpu", 0.0)) is not None:
        scheduler.receipt(lease.attempt, 1, 0.0)
        made += 1
    assert made == 2
    scheduler.receipt(take(scheduler, "g", "gpu").attempt, 1, 0.0)
    assert scheduler.lease("c", "cpu", 0.0) is not None


def test_blocks_that_an_earlier_run_committed_are_not_handed_out():
    scheduler = Scheduler([5, 5, 5], ["a", "b"], done={(0, 0): 4, (1, 0): 4, (0, 1): 3, (0, 2): 0}, first_attempt=50)
    lease = take(scheduler, pool="b")
    assert (lease.task.stage, lease.task.block, lease.task.rows, lease.attempt) == (1, 1, 3, 50)
    assert scheduler.lease("w", "a", 0.0) is None
    scheduler.receipt(lease.attempt, 3, 0.0)
    assert scheduler.finished


@pytest.mark.timeout(600)
def test_no_schedule_loses_duplicates_or_hangs():
    for seed in range(SCHEDULES):
        outcome = simulate(seed)
        found = (outcome.lost, outcome.duplicated, outcome.stuck, outcome.wrongly_given_up)
        assert found == (0, 0, False, 0), f"seed {seed}"
