"""How many requests are under way at once."""

import asyncio

import pytest

from jinx_pipeline.llm.pace import Pace


def paced(most, seconds, use):
    async def run():
        pace = Pace(most, seconds)
        await use(pace)
        return pace

    return asyncio.run(run())


async def rounds(pace, count, latency):
    """Rounds of as many requests as may be under way; `latency` gives that of a request, None: it is refused."""
    for _ in range(count):
        sent = [await pace.enter() for _ in range(int(pace.limit))]
        for number, under_way in enumerate(sent):
            pace.leave(latency(len(sent), number), under_way)


def test_the_number_doubles_in_each_round():
    pace = paced(1000, 60, lambda pace: rounds(pace, 1, lambda *_: 0.1))
    assert pace.limit == 256
    pace = paced(1000, 60, lambda pace: rounds(pace, 3, lambda *_: 0.1))
    assert pace.limit == 1000


def test_a_short_time_limit_does_not_end_the_growth():
    """Answers take half of the limit, however many requests there are."""
    pace = paced(1000, 1.0, lambda pace: rounds(pace, 9, lambda _, at: 0.5 if at % 20 else None))
    assert pace.limit == 1000


@pytest.mark.parametrize(("share", "low", "high"), [(0, 200, 200), (0.2, 200, 200), (0.5, 1, 40), (1, 1, 1)])
def test_refusals_make_it_smaller_if_they_are_many(share, low, high):
    pace = paced(200, 60, lambda pace: rounds(pace, 60, lambda n, at: None if at < share * n else 0.1))
    assert low <= pace.limit <= high


def test_long_latency_ends_the_growth():
    """A service whose requests take the longer, the more there are."""
    pace = paced(200, 2, lambda pace: rounds(pace, 40, lambda n, _: 0.02 * n))
    assert 50 < pace.limit < 90


def test_a_service_that_works_in_turn_is_not_sent_more_than_it_answers_in_time():
    """The first answers are fast, and the last request of the first round already takes most of the time limit."""
    pace = paced(1000, 4, lambda pace: rounds(pace, 1, lambda _, at: 0.02 * (at + 1)))
    assert 128 <= pace.limit <= 160


def test_a_sudden_growth_of_latency_makes_it_smaller_and_it_recovers():
    async def use(pace):
        await rounds(pace, 10, lambda *_: 0.1)
        await rounds(pace, 2, lambda *_: 1.0)
        assert pace.limit < 190
        await rounds(pace, 60, lambda *_: 0.1)

    assert paced(200, 60, use).limit == 200


def test_the_first_answers_of_a_service_that_starts_are_not_the_usual_ones():
    async def use(pace):
        await rounds(pace, 1, lambda _, at: 20.0 if at < 10 else 0.1)
        await rounds(pace, 10, lambda *_: 0.1)
        assert pace.limit == 200
        await rounds(pace, 2, lambda *_: 2.0)

    assert paced(200, 60, use).limit < 190


def test_requests_under_way_at_a_cut_are_no_reason_for_another():
    async def use(pace):
        await rounds(pace, 3, lambda *_: 0.1)
        for _ in range(200):
            await pace.enter()
        for _ in range(200):  # half of them end before the cut
            pace.leave(None, 200)
        assert 100 <= pace.limit <= 160
        await rounds(pace, 8, lambda *_: 0.1)

    assert paced(200, 60, use).limit == 200


def test_requests_wait_for_their_turn_in_order():
    async def use(pace):
        order: list[int] = []

        async def one(number):
            await pace.enter()
            order.append(number)

        tasks = [asyncio.create_task(one(number)) for number in range(5)]
        await asyncio.sleep(0)
        assert order == [0, 1]
        tasks[2].cancel()
        pace.leave(0.1, 1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert order == [0, 1, 3]
        pace.withdraw()
        await asyncio.gather(tasks[3], tasks[4])
        assert order == [0, 1, 3, 4]

    paced(2, 60, use)


def test_a_request_that_failed_is_the_next():
    async def use(pace):
        order: list[str] = []

        async def one(name, *, is_again):
            await pace.enter(is_again=is_again)
            order.append(name)

        await pace.enter()
        tasks = [asyncio.create_task(one(name, is_again=name == "again")) for name in ("first", "second", "again")]
        for _ in tasks:
            await asyncio.sleep(0)
            pace.leave(0.1, 1)
        await asyncio.gather(*tasks)
        assert order == ["again", "first", "second"]

    paced(1, 60, use)


def test_a_turn_of_a_cancelled_request_passes_on():
    async def use(pace):
        await pace.enter()
        first, second = (asyncio.create_task(pace.enter()) for _ in range(2))
        await asyncio.sleep(0)
        pace.leave(0.1, 1)
        first.cancel()
        await asyncio.wait_for(second, 5)
        assert first.cancelled()

    paced(1, 60, use)
