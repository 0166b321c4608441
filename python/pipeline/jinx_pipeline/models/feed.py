"""Feeds a model: inputs are prepared ahead in threads, and run in batches of similar size that fit into memory."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Generic, TypeVar


@dataclass
class FeedTimes:
    """Where the time for feeding goes, summed over all models; only `bench-model` reads it.

    Attributes:
        waiting: Seconds in which the model waited for inputs that were being prepared.
        running: Seconds in which it ran, or its results were read.
        inputs: The inputs that it has seen.
        batches: The batches that they made.
    """

    waiting: float = 0.0
    running: float = 0.0
    inputs: int = 0
    batches: int = 0


TIMES: Final = FeedTimes()
"""Of this process."""

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")

Results = Callable[[], Sequence[R]]
"""Waits for the results of a batch; the device may still compute them."""

# The number of batches that are prepared ahead.
_AHEAD: Final = 4
# The first window has at most this fraction of the items, so that even a few items are prepared while the model runs.
_FIRST: Final = 4
# The number of batches of texts in a window. Texts are sorted by length within a window, so that they need less
# padding; tokenizing them is fast.
_TEXT_WINDOW: Final = 4
# The number of tokenizer calls for a batch of texts.
_TEXT_PARTS: Final = 4
# Inputs of at least this share of the largest input's size are worth padding.
_ALIKE: Final = 0.8
_END: Final = object()
# The messages of CUDA, of MPS, and of the CPU's allocator.
_OUT_OF_MEMORY: Final = ("out of memory", "can't allocate memory", "not enough memory")


class TooLargeError(RuntimeError):
    """Raised when a single input does not fit into the memory of the device."""


@dataclass
class Limits:
    """The limits of a batch.

    Attributes:
        items: The largest number of inputs.
        size: The largest size with padding: the number of inputs, times the size of the largest; None for no limit.
        useful: The size with padding of a batch that is worth filling: beyond it, inputs that are much smaller than its
            largest go to the next batch, because work on padding is wasted. None: only full batches use the device
            well.
    """

    items: int
    size: int | None = None
    useful: int | None = None

    def halve(self, items: int, size: int) -> None:
        """Reduce the limits below the size of a batch that did not fit into memory."""
        self.items = max(items // 2, 1)
        if self.size is not None:
            self.size = max(size // 2, 1)


def feed(
    items: Sequence[T],
    prepare: Callable[[T], Sequence[P]],
    run: Callable[[list[P]], Results[R]],
    *,
    limits: Limits,
    size: Callable[[P], int] = lambda _: 1,
    threads: int = 1,
    window: int = 1,
) -> Iterator[tuple[int, list[R]]]:
    """Run a model on items. Which inputs form a batch follows from the items and the limits, not from the time.

    Items are prepared in windows, each while the model runs on the one before.

    Args:
        items: The items.
        prepare: Makes the inputs of an item; it runs in a thread.
        run: Runs the model on a batch of inputs.
        limits: The limits of a batch. They are lowered if the memory is not enough.
        size: The size of an input, such as its number of tokens.
        threads: The number of threads for `prepare`.
        window: The batches of a window, within which inputs are sorted by size.

    Yields:
        The number of each item and the results of its inputs, in any order.

    Raises:
        Exception: The first error for an item, after the results of all others.
    """
    if not items:
        return
    errors: list[tuple[int, BaseException]] = []
    with ThreadPoolExecutor(threads, "prepare") as pool:
        prepared = _prepared(items, prepare, limits.items * _AHEAD, pool, errors)
        waiting: deque[tuple[int, Sequence[P]]] = deque()
        first = -(-len(items) // _FIRST)
        while window_items := _window(prepared, waiting, min(limits.items * window, first)):
            first = sys.maxsize
            collected = _Window[R](limits)
            inputs: list[tuple[int, int, P]] = []
            for number, made in window_items:
                collected.expect(number, len(made))
                inputs += [(number, place, value) for place, value in enumerate(made)]
            # Begin with the largest inputs, so that memory runs out early if at all. Equal inputs keep their order.
            inputs.sort(key=lambda entry: -size(entry[2]))
            while inputs:
                count = _count(inputs, size, limits)
                started = time.perf_counter()
                collected.run(inputs[:count], run, size)
                TIMES.running += time.perf_counter() - started
                TIMES.inputs, TIMES.batches = TIMES.inputs + count, TIMES.batches + 1
                del inputs[:count]
            started = time.perf_counter()
            found = list(collected.finish())
            TIMES.running += time.perf_counter() - started
            yield from found
            errors += collected.errors
    if errors:
        raise min(errors, key=lambda pair: pair[0])[1]


def feed_texts(
    texts: Sequence[T],
    tokenize: Callable[[Sequence[T]], Sequence[P]],
    run: Callable[[list[P]], Results[R]],
    *,
    limits: Limits,
    size: Callable[[P], int],
) -> Iterator[tuple[int, R]]:
    """Run a model on texts; like `feed`, but for inputs that are quick to prepare, and fastest in large numbers.

    Args:
        texts: The texts.
        tokenize: Makes the inputs of some texts, one of each; it runs in a thread.
        run: Runs the model on a batch of inputs.
        limits: The limits of a batch. They are lowered if the memory is not enough.
        size: The number of tokens of an input.

    Yields:
        The number of each text and its result, in any order.

    Raises:
        Exception: The first error for a text.
    """
    count = max(min(limits.items, -(-len(texts) // _FIRST)) // _TEXT_PARTS, 1)
    parts = [texts[start : start + count] for start in range(0, len(texts), count)]
    for number, results in feed(parts, tokenize, run, limits=limits, size=size, window=_TEXT_WINDOW):
        yield from enumerate(results, number * count)


def ahead(values: Iterable[T], count: int = 1) -> Iterator[T]:
    """Values in order, such as the frames of a video; a thread makes the next ones while the caller uses one.

    Args:
        values: The values.
        count: How many are made ahead.
    """
    iterator: Iterator[Any] = iter(values)
    with ThreadPoolExecutor(1, "prepare") as pool:
        coming: deque[Future[Any]] = deque(pool.submit(next, iterator, _END) for _ in range(count))
        while (value := coming.popleft().result()) is not _END:
            coming.append(pool.submit(next, iterator, _END))
            yield value


def _prepared(
    items: Sequence[T],
    prepare: Callable[[T], Sequence[P]],
    most: int,
    pool: ThreadPoolExecutor,
    errors: list[tuple[int, BaseException]],
) -> Iterator[tuple[int, Sequence[P]]]:
    """The number of each item and its inputs, in order; prepares up to `most` items ahead."""
    numbered = iter(enumerate(items))
    coming: deque[tuple[int, Future[Sequence[P]]]] = deque()
    while True:
        coming.extend((number, pool.submit(prepare, item)) for number, item in islice(numbered, most - len(coming)))
        if not coming:
            return
        number, made = coming.popleft()
        started = time.perf_counter()
        try:
            inputs = made.result()
        except Exception as error:  # noqa: BLE001 - raised again after the results of the other items
            errors.append((number, error))
            continue
        finally:
            TIMES.waiting += time.perf_counter() - started
        yield number, inputs


def _window(
    prepared: Iterator[tuple[int, Sequence[P]]], waiting: deque[tuple[int, Sequence[P]]], limit: int
) -> list[tuple[int, Sequence[P]]]:
    """The items of the next window: at least one, with at most `limit` inputs in total; empty at the end.

    Args:
        prepared: All items.
        waiting: The item that did not fit into the window before; it is exchanged.
        limit: The number of inputs.
    """
    found: list[tuple[int, Sequence[P]]] = []
    count = 0
    while (item := waiting.popleft() if waiting else next(prepared, None)) is not None:
        if found and count + len(item[1]) > limit:
            waiting.append(item)
            break
        found.append(item)
        count += len(item[1])
        if count >= limit:
            break
    return found


def _count(inputs: Sequence[tuple[int, int, P]], size: Callable[[P], int], limits: Limits) -> int:
    """The number of inputs in the next batch; they are sorted by size, largest first."""
    count, largest = min(limits.items, len(inputs)), max(size(inputs[0][2]), 1)
    if limits.size is not None:
        count = min(count, max(limits.size // largest, 1))
    if limits.useful is not None:
        while count > 1 and count * largest > limits.useful and size(inputs[count - 1][2]) < _ALIKE * largest:
            count -= 1
    return count


class _Window(Generic[R]):
    """The results of a window. A batch is read after the next one was started, so that the device does not wait."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._results: dict[int, list[Any]] = {}
        self._running: tuple[list[tuple[int, int, Any]], Results[R]] | None = None
        self.errors: list[tuple[int, BaseException]] = []

    def expect(self, number: int, count: int) -> None:
        """Record the number of inputs of an item."""
        self._results[number] = [None] * count

    def run(
        self, batch: list[tuple[int, int, P]], run: Callable[[list[P]], Results[R]], size: Callable[[P], int]
    ) -> None:
        """Start a batch, divided into halves if memory is not enough."""
        lacking: str | None = None
        results: Results[R] | None = None
        try:
            results = run([value for _, _, value in batch])
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            lacking = str(error)  # keep the text only: the error itself holds the batch's tensors
        self._read()
        if results is not None:
            self._running = batch, results
            return
        free_memory()
        if len(batch) == 1:
            number = batch[0][0]
            self._results.pop(number, None)
            self.errors.append((number, TooLargeError(f"one input alone is too large for the memory: {lacking}")))
            return
        self._limits.halve(len(batch), len(batch) * size(batch[0][2]))
        half = len(batch) // 2
        self.run(batch[:half], run, size)
        self.run(batch[half:], run, size)

    def finish(self) -> Iterator[tuple[int, list[R]]]:
        """The results of all items of the window."""
        self._read()
        yield from self._results.items()

    def _read(self) -> None:
        if self._running is None:
            return
        batch, results = self._running
        self._running = None
        for (number, place, _), result in zip(batch, results(), strict=True):
            if number in self._results:
                self._results[number][place] = result


def is_out_of_memory(error: BaseException) -> bool:
    """Whether PyTorch ran out of memory, on a device or on the machine."""
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY)


def free_memory() -> None:
    """Return memory that PyTorch has reserved to the device."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch is not None and torch.backends.mps.is_available():
        torch.mps.empty_cache()
