"""The loop that feeds models: order, batches by size, errors of items, and memory that runs out."""

import threading

import pytest

from jinx_pipeline.models.feed import Limits, TooLargeError, ahead, feed, feed_texts


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
    found, batches = results(items, Limits(4, size=20), threads=threads, window=4)
    assert found == [[2 * item] for item in items]
    # The first quarter is a window of its own, so that the model begins early.
    assert batches == [[9, 5], [1], [10, 8], [7, 6], [4, 3, 2]]


def test_a_useful_batch_is_not_filled_with_padding():
    items = [20, 100, 95, 85, 30, 90, 79, 10, 40, 25]
    _, batches = results(items, Limits(8, size=800, useful=100), window=4)
    # Of the first window and of the others. Small ones share a batch: their padding is not much work.
    assert batches == [[100, 95], [20], [90, 85, 79], [40, 30], [25, 10]]


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


def test_the_next_batch_is_prepared_while_the_model_runs():
    second_begins, first_ends = threading.Event(), threading.Event()

    def prepare(item):
        if item >= 4:
            second_begins.set()
            assert first_ends.wait(30)  # it cannot end before the model has ended
        return [item]

    def run(batch):
        if min(batch) < 4:
            assert second_begins.wait(30)  # the model cannot end before
            first_ends.set()
        return lambda: batch

    assert dict(feed(range(8), prepare, run, limits=Limits(4), threads=2)) == {n: [n] for n in range(8)}


def test_a_window_holds_as_many_inputs_as_fit():
    model = Recorder()
    found = dict(feed([3] * 20, lambda count: [1] * count, model.run, limits=Limits(8)))
    assert found == {number: [2, 2, 2] for number in range(20)}
    assert [len(batch) for batch in model.batches] == [3, *[6] * 9, 3]


@pytest.mark.parametrize("count", [0, 1, 3, 16, 17, 100])
def test_texts_are_made_into_tokens_in_parts(count):
    texts = [f"{number} " * (1 + number % 7) for number in range(count)]
    parts, batches = [], []

    def tokenize(part):
        parts.append(len(part))
        return [text.split() for text in part]

    def run(batch):
        batches.append([len(tokens) for tokens in batch])
        return lambda: [(tokens[0], len(tokens)) for tokens in batch]

    found = dict(feed_texts(texts, tokenize, run, limits=Limits(8, size=40), size=len))
    assert found == {number: (str(number), 1 + number % 7) for number in range(count)}
    assert sum(parts) == count
    assert all(len(batch) * batch[0] <= 40 and batch == sorted(batch, reverse=True) for batch in batches)


def test_a_text_that_is_too_large_alone_is_told():
    model = Recorder(memory=10)
    with pytest.raises(TooLargeError, match="too large for the memory"):
        dict(feed_texts([1, 20, 3], list, model.run, limits=Limits(4), size=lambda one: one))


def test_values_are_made_ahead_in_order():
    made = threading.Semaphore(0)

    def values():
        for number in range(6):
            made.release()
            yield number

    found = []
    for number in ahead(values(), 2):
        found.append(number)
        if number < 4:
            assert all(made.acquire(timeout=30) for _ in range(3 if not number else 1))  # two ahead of this one
    assert found == list(range(6))
    assert list(ahead([])) == []


def test_an_error_of_values_ahead_comes_in_its_turn():
    def values():
        yield 1
        raise ValueError("bad frame")

    coming = ahead(values(), 3)
    assert next(coming) == 1
    with pytest.raises(ValueError, match="bad frame"):
        next(coming)


def test_an_item_has_any_number_of_inputs():
    model = Recorder()
    found = dict(feed([0, 1, 3], lambda count: [count] * count, model.run, limits=Limits(2)))
    assert found == {0: [], 1: [2], 2: [6, 6, 6]}
    assert list(feed([], lambda item: [item], model.run, limits=Limits(2))) == []


def test_batches_are_halved_and_the_limit_is_remembered():
    limits, model = Limits(8), Recorder(memory=3)
    found, batches = results([1] * 16, limits, model)
    assert found == [[2]] * 16
    assert [len(batch) for batch in batches] == [2] * 8
    assert limits.items == 2
    results([1] * 8, limits, model)
    assert [len(batch) for batch in batches[8:]] == [2] * 4


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
