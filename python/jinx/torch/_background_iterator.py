"""Runs an iterator in a background thread, ahead of its consumer."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
_DONE = object()
# How long to wait on a full queue before checking whether the consumer is gone.
_LOOK_SECONDS = 0.1


def ahead(make: Callable[[], Iterator[T]], depth: int) -> Iterator[T]:
    """The elements of an iterator that runs in a thread, at most `depth` elements ahead of the consumer.

    An error of the iterator is raised in place of its next element. A consumer that stops early ends the thread.
    """
    waiting: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()
    thread = threading.Thread(target=_run, args=(make, waiting, stopped), name="jinx-packs", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if item is _DONE:
                return
            if isinstance(item, _Raised):
                raise item.error
            yield item
    finally:
        stopped.set()
        thread.join()


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _run(make: Callable[[], Iterator[Any]], waiting: "queue.Queue[Any]", stopped: threading.Event) -> None:
    try:
        for item in make():
            if not _put(waiting, item, stopped):
                return
        _put(waiting, _DONE, stopped)
    except BaseException as error:  # noqa: BLE001 - raised again in the consumer's thread
        _put(waiting, _Raised(error), stopped)


def _put(waiting: "queue.Queue[Any]", item: Any, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        try:
            waiting.put(item, timeout=_LOOK_SECONDS)
        except queue.Full:
            continue
        return True
    return False
