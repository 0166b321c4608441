"""The loop that feeds models: order, batches by size, errors of items, and memory that runs out."""

import threading

import pytest

from jinx_pipeline.models.feed import Limits, TooLargeError, feed


class Recorder:
    """A model that doubles its inputs, and fails above a size that stands for the memory of a device."""

    def __init__(self, memory: int | None = None):
        self.batches: list[list[int]] = []
        self.memory = memory

    def run(self, batch):
        if self.memory is not None and len(batch) * max(batch) > self.memory:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        self.batches.append(list(batch))
        return lambda: [2 * one for one in batch]


def results(items, limits, model=None, **options):
    model = model or Recorder()
    found = dict(feed(items, lambda item: [item], model.run, limits=limits, size=lambda one: one, **options))
    return [found[number] for number in range(len(items))], model.batches


@pytest.mark.parametrize("threads", [1, 4])
def test_batches_are_sorted_by_size_and_bounded(threads):
    items = [5, 1, 9, 2, 7, 3, 8, 4, 6, 10]
    found, batches = results(items, Limits(4, size=20), threads=threads)
    assert found == [[2 * item] for item in items]
    assert batches == [[10, 9], [8, 7], [6, 5, 4], [3, 2, 1]]


def test_a_window_bounds_what_is_prepared_ahead():
    running = threading.Event()
    prepared = []

    def run(batch):
        running.set()
        return lambda: batch

    def prepare(item):
        prepared.append(item)
        return [item]

    loop = feed(range(100), prepare, run, limits=Limits(2))
    next(loop)
    assert len(prepared) <= 16
    assert sorted(number for number, _ in loop) == list(range(1, 100))


def test_an_item_has_any_number_of_inputs():
    model = Recorder()
    found = dict(feed([0, 1, 3], lambda count: [count] * count, model.run, limits=Limits(2)))
    assert found == {0: [], 1: [2], 2: [6, 6, 6]}
    assert list(feed([], lambda item: [item], model.run, limits=Limits(2))) == []


def test_batches_are_halved_and_the_limit_is_remembered():
    limits, model = Limits(8), Recorder(memory=3)
    found, batches = results([1] * 8, limits, model)
    assert found == [[2]] * 8
    assert [len(batch) for batch in batches] == [2, 2, 2, 2]
    assert limits.items == 2
    results([1] * 4, limits, model)
    assert [len(batch) for batch in batches[4:]] == [2, 2]


def test_an_input_that_is_too_large_alone_fails_alone():
    model = Recorder(memory=10)
    found = {}
    with pytest.raises(TooLargeError, match="too large for the memory: CUDA out of memory"):
        found.update(feed([1, 20, 3], lambda item: [item], model.run, limits=Limits(4), size=lambda one: one))
    assert found == {0: [2], 2: [6]}


def test_the_first_error_comes_after_all_results():
    def prepare(item):
        if item < 0:
            raise ValueError(f"bad {item}")
        return [item]

    found = {}
    with pytest.raises(ValueError, match="bad -1"):
        found.update(feed([1, -1, 2, -2, 3], prepare, Recorder().run, limits=Limits(2)))
    assert sorted(found) == [0, 2, 4]


def test_another_error_of_the_model_stops():
    def run(batch):
        raise RuntimeError("shapes do not fit")

    with pytest.raises(RuntimeError, match="shapes"):
        list(feed([1, 2], lambda item: [item], run, limits=Limits(2)))
