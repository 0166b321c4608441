"""A worker of the local engine: `python -m jinx_pipeline.worker REQUESTS ANSWERS LIFELINE ACTIVITY`, inherited files.

The worker is started as a new process, so scripts need no `__main__` guard, and notebooks work. Operators arrive by
cloudpickle.
"""

import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinx_pipeline.worker.task_runner import TaskRunner

_PR_SET_PDEATHSIG = 1
NAME = "jinx-worker"
"""The name of the process in lists of processes; those forked have the command line of the program otherwise."""


def main(arguments: list[str]) -> int:
    """Answer requests until the driver closes the pipe."""
    requests = Connection(int(arguments[0]), writable=False)
    answers = Connection(int(arguments[1]), readable=False)
    lifeline = int(arguments[2])
    # Operators' output goes to the log, not to the driver's standard output.
    os.dup2(2, 1)
    set_name(NAME)
    set_parent_death_signal()
    # `TaskRunner.load_work` collects and enables it: collecting while modules are imported only takes time.
    gc.disable()
    threading.Thread(target=_exit_with_driver, args=(lifeline,), daemon=True).start()
    return _serve(requests, answers, int(arguments[3]))


def set_name(name: str) -> None:
    """Set the name of this process, which only Linux has besides its command line."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name, "ascii")


def set_parent_death_signal() -> None:
    """Let the kernel kill this process when the driver dies, even if it is stopped (SIGSTOP); only Linux supports this.

    The kernel watches the thread that started this process, which must therefore last as long as its workers.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):  # the C library has no such function
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _exit_with_driver(lifeline: int) -> None:
    """Exit when the driver dies for any reason, which closes the other end of this pipe."""
    os.read(lifeline, 1)
    os._exit(3)


def _serve(requests: Connection, answers: Connection, activity: int) -> int:
    from jinx_pipeline.worker.activity import PIPES_CLOSED, Activity
    from jinx_pipeline.worker.pandas_import import spare
    from jinx_pipeline.worker.task_runner import TaskRunner

    shared = Activity(activity)
    pipes = {pipe.fileno(): os.fstat(pipe.fileno()) for pipe in (requests, answers)}

    def busy_with(name: str, rows: int) -> None:
        # No answer could be sent, so exit now, while the activity still names the operator that closed the pipes.
        if not all(_is_open(file, status) for file, status in pipes.items()):
            os._exit(PIPES_CLOSED)
        shared.set(name, rows)

    prepare: dict[str, Callable[..., None]] = {
        "preload": _preload,
        "log": _write_to,
        "path": _set_path,
        "spare": spare,
    }
    runner = TaskRunner(busy_with, shared.is_unwanted)
    answers.send(("ready", os.getpid()))
    while True:
        try:
            kind, *content = requests.recv()
        except EOFError:
            return 0
        if kind == "renew":
            runner = _renewed(runner, *content, busy_with=busy_with, is_unwanted=shared.is_unwanted)
            answers.send(("ready", os.getpid()))
            continue
        if kind in prepare:
            prepare[kind](*content)
            continue
        do = {"files": runner.load_files, "work": runner.load_work, "task": runner.run}[kind]
        answer = do(*content)
        if answer is not None:
            answers.send(answer)


def _renewed(runner: "TaskRunner", environment: dict[str, str], folder: str, log: str, **tell: Any) -> "TaskRunner":
    """A runner for the next run; from now on, this process writes that run's log."""
    from jinx_pipeline.worker.renewal import forget_run
    from jinx_pipeline.worker.task_runner import TaskRunner

    runner.forget()
    forget_run(environment, folder)
    _write_to(log)
    return TaskRunner(**tell)


def _preload() -> None:
    """Import what almost every task needs while the driver is still reading the recipe."""
    for module in ("jinx_pipeline.kernels", "jinx_pipeline.worker.map_work"):
        import_module(module)


def _set_path(path: list[str]) -> None:
    sys.path[:] = path


def _write_to(log: str) -> None:
    """Write standard output and standard error to a file from now on."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)


def _is_open(file: int, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(file), status)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
