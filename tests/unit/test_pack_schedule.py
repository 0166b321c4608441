"""Schedules: the same length for every rank, each pack once, balanced, resumed under another world size."""

import json

import numpy as np
import pytest

import jinx
from jinx.errors import InvalidError


def made(count: int = 20_000, **options) -> jinx.PackPlan:
    random = np.random.default_rng(1)
    images = random.poisson(1.2, count)
    tokens = np.clip(random.lognormal(5.5, 0.7, count), 1, 1500).astype(np.int64) + images * 64
    return jinx.pack({"num_tokens": tokens, "num_images": images}, 4096, **options)


PLAN = made()


def trained(schedules: list[jinx.PackSchedule], micro_steps: int) -> list[int]:
    """The packs of all ranks, without fillers."""
    packs = [schedule[m].tolist() for m in range(micro_steps) for schedule in schedules]
    return [pack for batch in packs for pack in batch if pack >= 0]


def ranks(plan: jinx.PackPlan, world: int, **options) -> list[jinx.PackSchedule]:
    return [plan.schedule(world_size=world, rank=rank, **options) for rank in range(world)]


@pytest.mark.parametrize("world", [1, 2, 8])
@pytest.mark.parametrize("balance", ["auto", None, "num_tokens^2", {"num_images": 1, "num_tokens": 0.01}])
@pytest.mark.parametrize(("batch_size", "accumulation"), [(1, 1), (3, 2)])
def test_each_pack_is_trained_on_once(world, balance, batch_size, accumulation):
    schedules = ranks(PLAN, world, batch_size=batch_size, accumulation=accumulation, balance=balance)
    assert len({len(schedule) for schedule in schedules}) == 1
    assert len(schedules[0]) == schedules[0].steps * accumulation
    assert sorted(trained(schedules, len(schedules[0]))) == list(range(len(PLAN)))
    assert all(len(batch) == batch_size for batch in schedules[0])


def test_the_last_step_is_filled_or_dropped():
    plan = made(300)
    schedules = ranks(plan, 8, accumulation=2)
    last = np.concatenate([schedule[m] for m in (-2, -1) for schedule in schedules])
    assert (last == -1).sum() == len(schedules[0]) * 8 - len(plan) > 0
    dropping = ranks(plan, 8, accumulation=2, drop_last=True)
    assert len(dropping[0]) == len(schedules[0]) - 2
    found = trained(dropping, len(dropping[0]))
    assert len(found) == len(set(found)) == len(dropping[0]) * 8


def test_ranks_pay_alike_and_steps_still_differ():
    balanced, plain = PLAN.schedule(world_size=8), PLAN.schedule(world_size=8, balance=None)
    assert balanced.imbalance() <= 1.07 < plain.imbalance("num_images")
    steps = balanced.step_costs()[:64].mean(axis=1)
    assert steps.std() > 0.1 * steps.mean()
    assert np.abs(np.corrcoef(steps[:-1], steps[1:])[0, 1]) < 0.5
    # All packs of a window are still in that window.
    packs = np.concatenate([schedule[m] for m in range(64) for schedule in ranks(PLAN, 8)])
    assert sorted(packs.tolist()) == list(range(64 * 8))


def test_any_step_is_found_alone():
    schedule = PLAN.schedule(world_size=2, rank=1, batch_size=2)
    in_order = [batch.tolist() for batch in schedule]
    for micro_step in (len(schedule) - 1, 0, 77):
        assert PLAN.schedule(world_size=2, rank=1, batch_size=2)[micro_step].tolist() == in_order[micro_step]
    assert schedule[-1].tolist() == in_order[-1]
    with pytest.raises(IndexError, match="out of range"):
        schedule[len(schedule)]


@pytest.mark.parametrize("steps", [[0], [1], [64], [65, 3, 10], [100, 1, 64, 7], [10**9]])
@pytest.mark.parametrize("worlds", [[8, 4, 2, 8, 3], [1, 8, 8, 5, 1], [2, 16, 1, 2, 4]])
def test_another_world_size_continues_with_exactly_the_rest(steps, worlds):
    state, found = None, []
    layouts = [(world, 1 + number % 2, 1 + number % 3) for number, world in enumerate(worlds)]
    for number, (world, batch_size, accumulation) in enumerate(layouts):
        options = {"batch_size": batch_size, "accumulation": accumulation, "resume": state}
        balance = "num_tokens^2" if number == 3 else None if number == 2 else "auto"
        schedules = ranks(PLAN, world, balance=balance, **options)
        is_last = number == len(worlds) - 1
        stop = len(schedules[0]) if is_last else min(steps[number % len(steps)], len(schedules[0]))
        found += trained(schedules, stop)
        states = {json.dumps(schedule.state(stop)) for schedule in schedules}
        assert len(states) == 1
        state = json.loads(states.pop())
    assert len(found) == len(PLAN)
    assert sorted(found) == list(range(len(PLAN)))


def test_the_same_world_continues_as_if_nothing_had_happened():
    whole = [batch.tolist() for batch in PLAN.schedule(world_size=4, rank=2)]
    first = PLAN.schedule(world_size=4, rank=2)
    resumed = PLAN.schedule(world_size=4, rank=2, resume=first.state(100))
    assert [batch.tolist() for batch in resumed] == whole[100:]
    assert resumed.state(5) == first.state(105)


def test_a_resumed_epoch_is_balanced_again_after_its_window():
    plan = made(60_000)
    state = plan.schedule(world_size=4).state(37)
    schedule = plan.schedule(world_size=8, resume=state)
    assert schedule.imbalance() <= 1.15
    later = plan.schedule(world_size=8, resume=schedule.state(40))
    assert later.imbalance() <= 1.07


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"world_size": 0}, "world_size=0"),
        ({"rank": 1}, "rank 1 of 1"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"accumulation": -1}, "accumulation=-1"),
        ({"balance": "num_image"}, "num_images"),
        ({"resume": {}}, "not the state of a schedule"),
        ({"resume": {**PLAN.schedule().state(3), "packs_consumed": 10**9}}, "not a state of a schedule of"),
        ({"resume": {**PLAN.schedule().state(3), "order_group": 0}}, "not a state of a schedule of"),
        ({"resume": {**PLAN.schedule().state(3), "balance": {"num_frames": 1.0}}}, "num_frames"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(options, message):
    with pytest.raises(InvalidError, match=message):
        PLAN.schedule(**options)


def test_states_are_of_steps_that_exist():
    with pytest.raises(InvalidError, match="not between 0"):
        PLAN.schedule().state(10**9)
