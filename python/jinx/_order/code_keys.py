"""Sort keys from a function in a user's file, computed in worker processes."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import FrameType
from typing import Any

from jinx._dataset.dataset import Dataset
from jinx._order.key_values import checked_key
from jinx.errors import JinxError

_BLOCK = 1024
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# In a worker process: the dataset and the function.
_WORK: list[Any] = []


def load_function(code: str) -> Callable[[Any], Any]:
    """The function of `FILE.py:FUNCTION`.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The argument has another form, the file cannot be run, or the file has no such function.
    """
    path, _, name = code.rpartition(":")
    if not path or not name.isidentifier():
        raise ValueError(f"{code!r}: write FILE.py:FUNCTION")
    if not os.path.isfile(path):  # noqa: PTH113 - str in, str out
        raise FileNotFoundError(f"{path}: no such file")
    from jinx._user_code import run_file

    module = run_file(path, "jinx_user_code")
    function = getattr(module, name, None)
    if not callable(function):
        from jinx._suggest import hint

        functions = [function_name for function_name, value in vars(module).items() if callable(value)]
        raise ValueError(  # noqa: TRY004 - the argument has the wrong value, not the wrong type
            f"{path}: there is no function {name!r}{hint(name, functions)}"
        )
    return function


def in_this_process(dataset: Dataset, code: str) -> list[Any]:
    """The keys of all samples.

    Raises:
        ValueError: An error of `load_function`, or the function fails on a sample.
    """
    function = load_function(code)
    return [_key(function, dataset, i) for i in range(len(dataset))]


def in_processes(dataset: Dataset, code: str, workers: int | None) -> Iterator[list[Any]]:
    """The keys of all samples, block by block in their order."""
    load_function(code)  # reports errors before a process starts
    from multiprocessing import get_context

    count = workers or os.cpu_count() or 1
    starts = iter(range(0, len(dataset), _BLOCK))
    pool = ProcessPoolExecutor(count, get_context("spawn"), _start, (dataset, code))
    try:
        ahead: deque[Future[list[Any]]] = deque()
        for start in starts:
            with _uninterrupted():
                ahead.append(pool.submit(_keys, start))
            if len(ahead) > 2 * count:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    except BrokenProcessPool:
        raise JinxError(
            "a worker process of the key function ended: the function ended it, or the system did, perhaps because "
            "memory ran out; try with fewer workers (--workers 1)"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Block Ctrl-C in processes that start meanwhile: a process that is not ready yet would print a traceback.

    Here it is put off until the end, as are the other signals that stop a command. The mask does not do that: the
    system gives the signal to another thread, and Python raises `KeyboardInterrupt` in the main thread, which would
    leave a process that no pool knows.
    """
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: handler for number in _STOPS if is_main and callable(handler := signal.getsignal(number))}
    received: list[int] = []
    is_over = False

    def put_off(number: int, frame: FrameType | None) -> None:
        # If an error leaves this handler behind, it acts as the one before.
        if is_over:
            handlers[signal.Signals(number)](number, frame)
        else:
            received.append(number)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for number in handlers:
            signal.signal(number, put_off)
        yield
    finally:
        is_over = True
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in received[:1]:
            signal.raise_signal(number)


def _start(dataset: Dataset, code: str) -> None:
    # Ctrl-C ends a worker silently; only the main process reports it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _WORK[:] = [dataset, load_function(code)]


def _keys(start: int) -> list[Any]:
    dataset, function = _WORK
    return [checked_key(_key(function, dataset, i), i) for i in range(start, min(start + _BLOCK, len(dataset)))]


def _key(function: Callable[[Any], Any], dataset: Dataset, i: int) -> Any:
    try:
        return function(dataset[i])
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's own exception may not be picklable
        raise ValueError(f"{type(error).__name__} in the key function at sample {i}: {error}") from None
