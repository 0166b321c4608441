"""Starts worker processes; it imports little, so that a worker can start before the packages of the driver."""

import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from jinx_pipeline.engines.local.fork_server import ForkedProcess, ForkServer
from jinx_pipeline.engines.local.message_pipe import MessagePipe
from jinx_pipeline.worker.activity import Activity, shared_file

# Use one heap for all threads and for Arrow, because every heap keeps freed memory and many workers must fit into
# memory. `freed_memory` sets how much a heap keeps.
_SMALL_HEAPS = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
# Threads that wait inside a model must not occupy cores that could decode its next inputs.
_PASSIVE_WAIT = {"OMP_WAIT_POLICY": "passive"}

# Variables that libraries read when they are imported, so that they must be set before: numpy starts its threads then.
# `JE_ARROW_MALLOC_CONF` keeps Arrow from starting a thread for a heap that is not used.
_READ_BY_IMPORTS = ("OMP_NUM_THREADS", "ARROW_DEFAULT_MEMORY_POOL")
_WITHOUT_THREADS = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}


class Launched(NamedTuple):
    """A worker process and its pipes.

    Attributes:
        process: The process.
        pipe: Messages to and from it.
        lifeline: A descriptor that ends the process when it is closed.
        activity: What the process does now.
    """

    process: subprocess.Popen[bytes] | ForkedProcess
    pipe: MessagePipe
    lifeline: int
    activity: Activity


def launch(environment: dict[str, str], log: IO[bytes] | int, server: ForkServer | None = None) -> Launched:
    """Start a worker.

    Args:
        environment: Its variables.
        log: The file for its output.
        server: A server that forks it; otherwise, and if the server cannot, the worker is a new program.
    """
    to_worker, requests = os.pipe()[:2]
    answers, from_worker = os.pipe()[:2]
    lifeline_end, lifeline = os.pipe()[:2]
    shared = shared_file()
    inherited = (to_worker, from_worker, lifeline_end, shared)
    try:
        activity = Activity(shared)
        process = None
        if server is not None and not isinstance(log, int):
            with suppress(OSError):  # if the system refuses a new program too, that is reported
                process = server.fork(environment, log.fileno(), inherited)
        if process is None:
            process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "jinx_pipeline.worker", *map(str, inherited)],
                pass_fds=inherited,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,  # only the driver handles Ctrl-C
            )
    finally:
        for file in inherited:
            os.close(file)
    return Launched(process, MessagePipe(requests, answers), lifeline, activity)


def worker_environment(threads: int, gpus: Sequence[str] = ()) -> dict[str, str]:
    """The variables of a worker.

    Args:
        threads: Threads of its kernels.
        gpus: The GPUs that it sees.
    """
    return {
        **_SMALL_HEAPS,
        **(_PASSIVE_WAIT if threads > 1 else {}),
        **os.environ,
        # Set before the process imports anything, so that no library sees another device.
        "CUDA_VISIBLE_DEVICES": ",".join(gpus),
        "OMP_NUM_THREADS": str(threads),
        "RAYON_NUM_THREADS": str(threads),
        "PYTHONPATH": os.pathsep.join(_import_path()),
    }


def _import_path() -> list[str]:
    """The import path for a new process, with the directories of this package and of jinx."""
    import jinx
    import jinx_pipeline

    roots = [str(Path(package.__file__ or "").resolve().parents[1]) for package in (jinx_pipeline, jinx)]
    return list(dict.fromkeys([*roots, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]))


class EarlyStart:
    """What is started before the recipe is read, for workers with one thread and no GPU.

    It is a server that forks workers; where there can be none, a worker whose imports overlap with those of the driver,
    and which the first run that needs such a worker takes.

    Attributes:
        server: The server.
    """

    def __init__(self) -> None:
        self.server: ForkServer | None = None
        self._launched: Launched | None = None

    @contextmanager
    def started(self) -> Generator[None]:
        """Start it; at the end of the block, the server ends, and the worker too unless a run has taken it."""
        environment = worker_environment(1)
        self.server = ForkServer.started({name: environment[name] for name in _READ_BY_IMPORTS} | _WITHOUT_THREADS)
        if self.server is None:
            with suppress(OSError):  # the run reports it when it starts its own workers
                self._launched = launch(environment, subprocess.DEVNULL)
                self._launched.pipe.send(("preload",))
        try:
            yield
        finally:
            server, self.server = self.server, None
            launched = self.take()
            if launched is not None:
                launched.process.kill()
                _close(launched)
            if server is not None:
                server.close()

    def take(self) -> Launched | None:
        """The worker, once; None if it was not started, or has ended."""
        launched, self._launched = self._launched, None
        if launched is not None and launched.process.poll() is not None:
            _close(launched)
            return None
        return launched


def _close(launched: Launched) -> None:
    launched.process.wait()
    launched.pipe.close()
    launched.activity.close()
    os.close(launched.lifeline)


early_start = EarlyStart()
