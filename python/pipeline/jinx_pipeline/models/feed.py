"""Feeds a model: inputs are prepared ahead in threads, and run in batches of similar size that fit into memory."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Generic, TypeVar


@dataclass
class FeedTimes:
    """Where the time of feeding goes, added up over all models; only `bench-model` reads it.

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

# Batches in a window. Inputs are sorted by size within a window, and the next window is prepared while one runs.
_WINDOW: Final = 4
# CUDA, MPS, and the allocator of the CPU.
_OUT_OF_MEMORY: Final = ("out of memory", "can't allocate memory", "not enough memory")


class TooLargeError(RuntimeError):
    """Raised when a single input does not fit into the memory of the device."""


@dataclass
class Limits:
    """The limits of a batch.

    Attributes:
        items: The largest number of inputs.
        size: The largest size with padding: the number of inputs, times the size of the largest; None for no limit.
    """

    items: int
    size: int | None = None

    def halve(self, items: int, size: int) -> None:
        """Lower the limits below a batch that did not fit into memory."""
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
) -> Iterator[tuple[int, list[R]]]:
    """Run a model on items. Which inputs form a batch follows from the items and the limits, not from the time.

    Args:
        items: The items.
        prepare: Makes the inputs of an item; it runs in a thread.
        run: Runs the model on a batch of inputs.
        limits: The limits of a batch. They are lowered if the memory is not enough.
        size: The size of an input, such as its number of tokens.
        threads: The number of threads for `prepare`.

    Yields:
        The number of each item and the results of its inputs, in any order.

    Raises:
        Exception: The first error for an item, after the results of all others.
    """
    if not items:
        return
    errors: list[tuple[int, BaseException]] = []
    with ThreadPoolExecutor(threads, "prepare") as pool:
        for window in _windows(items, prepare, limits.items * _WINDOW, pool):
            collected = _Window[R](limits)
            inputs: list[tuple[int, int, P]] = []
            for number, prepared in window:
                started = time.perf_counter()
                try:
                    made = prepared.result()
                except Exception as error:  # noqa: BLE001 - raised below
                    errors.append((number, error))
                    continue
                finally:
                    TIMES.waiting += time.perf_counter() - started
                collected.expect(number, len(made))
                inputs += [(number, place, one) for place, one in enumerate(made)]
            # The largest first, so that memory runs out at the beginning. The order of equal ones stays.
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


def _windows(
    items: Sequence[T], prepare: Callable[[T], Sequence[P]], count: int, pool: ThreadPoolExecutor
) -> Iterator[list[tuple[int, "Future[Sequence[P]]"]]]:
    """The items in windows, of which the next is being prepared while one is processed."""
    numbered = iter(enumerate(items))
    ahead: deque[list[tuple[int, Future[Sequence[P]]]]] = deque()
    while True:
        while len(ahead) < 2:  # noqa: PLR2004 - one to process and one to prepare
            ahead.append([(number, pool.submit(prepare, item)) for number, item in islice(numbered, count)])
        window = ahead.popleft()
        if not window:
            return
        yield window


def _count(inputs: Sequence[tuple[int, int, P]], size: Callable[[P], int], limits: Limits) -> int:
    """How many inputs the next batch has; they are sorted by size, the largest first."""
    count = min(limits.items, len(inputs))
    if limits.size is not None:
        count = min(count, max(limits.size // max(size(inputs[0][2]), 1), 1))
    return count


class _Window(Generic[R]):
    """The results of a window. A batch is read after the next one was started, so that the device does not wait."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._results: dict[int, list[Any]] = {}
        self._running: tuple[list[tuple[int, int, Any]], Results[R]] | None = None
        self.errors: list[tuple[int, BaseException]] = []

    def expect(self, number: int, count: int) -> None:
        """Note the number of inputs of an item."""
        self._results[number] = [None] * count

    def run(
        self, batch: list[tuple[int, int, P]], run: Callable[[list[P]], Results[R]], size: Callable[[P], int]
    ) -> None:
        """Start a batch, in halves if the memory is not enough."""
        lacking: str | None = None
        results: Results[R] | None = None
        try:
            results = run([one for _, _, one in batch])
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            lacking = str(error)  # the error itself holds the tensors of the batch
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
    """Whether PyTorch had too little memory, of a device or of the machine."""
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY)


def free_memory() -> None:
    """Return memory that PyTorch holds for later to the device."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch is not None and torch.backends.mps.is_available():
        torch.mps.empty_cache()
