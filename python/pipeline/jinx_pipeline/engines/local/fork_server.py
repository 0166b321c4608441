"""A process that forks workers: it has imported what they need, so each starts in milliseconds and shares its memory.

A fork is safe only in a process with one thread, and is as good as a new process only before that has begun its work.
So the command line forks the server when it has imported what both need, and has opened nothing; the server forks the
workers.
"""

import gc
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

# What the command line and its workers need.
_COMMON = (
    "jinx_pipeline.publish.pack_work",
    "jinx_pipeline.worker.map_work",
    "numpy.ma",  # pyarrow imports it to convert the first array
)
# How long the server may take to end its workers.
_END_SECONDS = 5.0


class ForkedProcess:
    """A process that the server forks, with the methods of `subprocess.Popen` that the local engine calls.

    Args:
        status: The socket on which the server sends the process, and later its exit code.

    Attributes:
        pid: The process id.
        returncode: The exit code, negative for a signal; None while the process runs.

    Raises:
        OSError: The server could not fork, or has ended.
    """

    def __init__(self, status: socket.socket) -> None:
        self.returncode: int | None = None
        self._status = status
        message, files, _, _ = socket.recv_fds(status, 64, 1)
        if not files:
            number = int(message or 0)
            raise OSError(number, os.strerror(number)) if number else ConnectionResetError("the fork server has ended")
        self.pid, self._process = int(message), files[0]

    def poll(self) -> int | None:
        """The exit code; None while the process runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process ends.

        Raises:
            subprocess.TimeoutExpired: It runs longer.
        """
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._status, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired("worker", timeout or 0.0)
            message = b""
            with suppress(OSError):
                message = self._status.recv(64)
            # The system kills the workers of a server that ends.
            self.returncode = int(message) if message else -signal.SIGKILL
            self._status.close()
            os.close(self._process)
        return self.returncode

    def kill(self) -> None:
        """Kill the process; nothing happens if it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, signal.SIGKILL)


class ForkServer:
    """The server, as the command line sees it.

    Args:
        pid: Its process id.
        control: The socket for requests.
    """

    def __init__(self, pid: int, control: socket.socket) -> None:
        self._pid = pid
        self._control = control

    @classmethod
    def started(cls, variables: Mapping[str, str]) -> "ForkServer | None":
        """Import what the command line and its workers need, and fork the server.

        Args:
            variables: Variables for the imports.

        Returns:
            None if this is not a new process with one thread, or the system lacks something.
        """
        if not _is_new_process():
            return None
        with _set(variables), _uncollected():
            for module in _COMMON:
                import_module(module)
        if not _has_one_thread():
            return None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            return None
        if not pid:
            from jinx_pipeline.engines.local.fork_loop import serve

            serve(theirs)
        theirs.close()
        return cls(pid, ours)

    def fork(self, environment: dict[str, str], log: int, inherited: Sequence[int]) -> ForkedProcess:
        """Start a worker.

        Args:
            environment: Its variables.
            log: A descriptor for its output.
            inherited: The descriptors that it gets.

        Raises:
            OSError: The server could not fork or has ended, or the variables are too long for a message.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                message = pickle.dumps(environment)
                socket.send_fds(self._control, [message], [theirs.fileno(), log, *inherited])
            return ForkedProcess(ours)
        except OSError:
            ours.close()
            raise

    def close(self) -> None:
        """End the server and the workers that it has forked."""
        self._control.close()
        process = os.pidfd_open(self._pid)
        if not select.select([process], [], [], _END_SECONDS)[0]:  # a worker waits in the kernel
            os.kill(self._pid, signal.SIGKILL)
        os.close(process)
        os.waitpid(self._pid, 0)


def _is_new_process() -> bool:
    """Whether this process has imported little so far, and the system can do all that is needed here."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open") or "numpy" in sys.modules:
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:  # an old kernel, or a container that forbids it
        return False
    return _has_one_thread()


def _has_one_thread() -> bool:
    return len(list(Path("/proc/self/task").iterdir())) == 1


@contextmanager
def _uncollected() -> Generator[None]:
    """Keep the garbage collector away from imported modules: it would copy memory that both processes share."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()  # `enable` alone would start a collection
            gc.enable()


@contextmanager
def _set(variables: Mapping[str, str]) -> Generator[None]:
    """Set variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
