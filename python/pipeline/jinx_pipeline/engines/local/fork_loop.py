"""What the fork server does: it imports what workers need, forks them on request, and tells how they ended."""

import ctypes
import gc
import os
import pickle
import select
import signal
import socket
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple, NoReturn

# What workers need besides what the command line has imported already.
_OF_WORKERS = (
    "jinx_pipeline.worker.__main__",
    "jinx_pipeline.worker.task_runner",
    "jinx_pipeline.worker.pandas_import",
    "jinx_pipeline.kernels",
    "pyarrow.compute",
    "dateutil.relativedelta",  # pyarrow imports it, if it is installed, to convert the first list
)
_MESSAGE_BYTES = 1 << 20
_MAX_FILES = 16
_M_ARENA_MAX = -8


class _Child(NamedTuple):
    pid: int
    status: socket.socket


def serve(control: socket.socket) -> NoReturn:
    """Fork workers until the command line closes its end of the socket; then end them."""
    code = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for file in (0, 1):
            os.dup2(null, file)
        _close_all_but({0, 1, 2, control.fileno()})
        # Ctrl-C is for the command line. The next module depends on the handlers that there are when it is imported.
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        gc.disable()
        from jinx_pipeline.worker.__main__ import set_name, set_parent_death_signal

        set_name("jinx-fork")
        set_parent_death_signal()
        for module in _OF_WORKERS:
            with suppress(ImportError):  # the worker that needs it reports it
                import_module(module)
        gc.freeze()  # a collection would write to all objects, and so copy all pages
        _answer(control)
        code = 0
    except BaseException:  # noqa: BLE001 - nothing else would report it
        traceback.print_exc()
    finally:
        os._exit(code)


def _answer(control: socket.socket) -> None:
    poll = select.poll()
    poll.register(control, select.POLLIN)
    children: dict[int, _Child] = {}
    while True:
        for file, _ in poll.poll():
            if file != control.fileno():
                poll.unregister(file)
                _tell_end(children.pop(file))
                os.close(file)
                continue
            message, files, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, _MAX_FILES)
            if not message:
                _end(list(children.values()))
                return
            child = _forked(pickle.loads(message), files)  # noqa: S301 - from our own process
            if child is not None:
                process = os.pidfd_open(child.pid)
                poll.register(process, select.POLLIN)
                children[process] = child
                with suppress(OSError):
                    socket.send_fds(child.status, [str(child.pid).encode()], [process])


def _forked(environment: dict[str, str], files: list[int]) -> _Child | None:
    """Fork a worker; None if the system refuses, which the command line is told."""
    status = socket.socket(fileno=files[0])
    try:
        pid = os.fork()
    except OSError as error:
        with suppress(OSError), status:
            status.send(str(error.errno).encode())
        pid = None
    if pid == 0:
        _be_worker(environment, files[1], files[2:])
    for file in files[1:]:
        os.close(file)
    return None if pid is None else _Child(pid, status)


def _tell_end(child: _Child) -> None:
    _, status = os.waitpid(child.pid, 0)
    with suppress(OSError), child.status:
        child.status.send(str(os.waitstatus_to_exitcode(status)).encode())


def _end(children: list[_Child]) -> None:
    """Kill workers, and wait for them, so that the time that they took is counted as that of this process."""
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
    for child in children:
        _tell_end(child)


def _be_worker(environment: dict[str, str], log: int, inherited: list[int]) -> NoReturn:
    """Become what `python -m jinx_pipeline.worker` is."""
    code = 1
    try:
        os.setsid()
        os.environ.clear()
        os.environ.update(environment)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        _close_all_but({0, 1, 2, *inherited})
        _set_heaps(environment.get("MALLOC_ARENA_MAX"))
        _new_random_numbers()
        arguments = list(map(str, inherited))
        sys.argv = ["jinx_pipeline.worker", *arguments]
        from jinx_pipeline.worker.__main__ import main

        code = main(arguments)
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except BaseException:  # noqa: BLE001 - nothing else would report it
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)


def _close_all_but(files: set[int]) -> None:
    ordered = sorted(files)
    for file, after in zip(ordered, [*ordered[1:], os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(file + 1, after)


def _set_heaps(count: str | None) -> None:
    """Set what the C library reads from the environment only when a program starts."""
    if count is not None:
        with suppress(AttributeError, ValueError):  # another C library, or another value
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, int(count))


def _new_random_numbers() -> None:
    """Each worker has its own; Python does this for `random`."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
