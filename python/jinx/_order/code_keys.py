"""Sort keys by a function from a file that the user names, computed in worker processes."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

from jinx._dataset.dataset import Dataset

_BLOCK = 1024
# In a worker: the dataset, and the function.
_WORK: list[Any] = []


def load_function(code: str) -> Callable[[Any], Any]:
    """The function of `FILE.py:FUNCTION`.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The text has another form, or the file has no such function.
    """
    path, _, name = code.rpartition(":")
    if not path or not name.isidentifier():
        raise ValueError(f"{code!r}: write FILE.py:FUNCTION")
    if not os.path.isfile(path):  # noqa: PTH113 - str in, str out
        raise FileNotFoundError(f"{path}: no such file")
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("jinx_user_code", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: this is not a Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        from jinx._suggest import hint

        raise ValueError(  # noqa: TRY004 - the argument has the wrong value, not the wrong type
            f"{path}: there is no function {name!r}{hint(name, vars(module))}"
        )
    return function


def in_processes(dataset: Dataset, code: str, workers: int | None) -> Iterator[list[Any]]:
    """The keys of all samples, block by block in their order."""
    load_function(code)  # an error is told before a process starts
    from multiprocessing import get_context

    count = workers or os.cpu_count() or 1
    starts = iter(range(0, len(dataset), _BLOCK))
    pool = ProcessPoolExecutor(count, get_context("spawn"), _start, (dataset, code))
    try:
        ahead: deque[Future[list[Any]]] = deque()
        for start in starts:
            ahead.append(pool.submit(_keys, start))
            if len(ahead) > 2 * count:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _start(dataset: Dataset, code: str) -> None:
    _WORK[:] = [dataset, load_function(code)]


def _keys(start: int) -> list[Any]:
    dataset, function = _WORK
    return [_key(function, dataset, i) for i in range(start, min(start + _BLOCK, len(dataset)))]


def _key(function: Callable[[Any], Any], dataset: Dataset, i: int) -> Any:
    try:
        return function(dataset[i])
    except Exception as error:  # noqa: BLE001 - one of the user's own classes cannot leave the process; its text can
        raise ValueError(f"{type(error).__name__} in the key function at sample {i}: {error}") from None
