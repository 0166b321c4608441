"""What operators may change in a worker's process that other code depends on: limits, signals, umask, timers."""

import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

if sys.platform != "win32":
    import resource

# The limits on files, pipes and memory that later work needs.
_LIMITS = ("RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_STACK", "RLIMIT_CPU", "RLIMIT_NPROC")


@dataclass(frozen=True)
class ProcessState:
    """The state of this process at some time.

    Attributes:
        limits: The soft and hard limits, by name.
        handlers: The handler of each signal.
        umask: The bits that new files do not get.
        recursion: The limit of Python's recursion.
    """

    limits: dict[str, tuple[int, int]]
    handlers: dict[signal.Signals, Any]
    umask: int
    recursion: int

    @classmethod
    def now(cls) -> Self:
        """The current state."""
        names = [name for name in _LIMITS if hasattr(resource, name)] if sys.platform != "win32" else []
        limits = {name: resource.getrlimit(getattr(resource, name)) for name in names}
        handlers = {number: signal.getsignal(number) for number in signal.Signals}
        return cls(limits, handlers, _umask(), sys.getrecursionlimit())

    def changes(self) -> list[str]:
        """Descriptions of what has changed since then."""
        now = self.now()
        changed = [name for name, limit in self.limits.items() if now.limits[name] != limit]
        changed += [
            f"the handler of {number.name}" for number, old in self.handlers.items() if now.handlers[number] != old
        ]
        changed += ["the umask"] if now.umask != self.umask else []
        return changed + (["the recursion limit"] if now.recursion != self.recursion else [])

    def restore(self) -> bool:
        """Return to this state; returns whether that succeeded, which a lowered hard limit may prevent."""
        if sys.platform != "win32":
            for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
                signal.setitimer(timer, 0)
            for name, limit in self.limits.items():
                with suppress(ValueError, OSError):
                    resource.setrlimit(getattr(resource, name), limit)
        for number, handler in self.handlers.items():
            # Handlers in native code are None here, and cannot be set from Python.
            if handler is not None and signal.getsignal(number) != handler:
                with suppress(ValueError, OSError):
                    signal.signal(number, handler)
        os.umask(self.umask)
        with suppress(RecursionError):
            sys.setrecursionlimit(self.recursion)
        return not self.changes()


def _umask() -> int:
    """The umask. It is read without setting it if possible, because other threads may create files meanwhile."""
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


AT_START = ProcessState.now()
"""The state of this process before it ran operators."""


def blamed(message: str) -> str:
    """The message for a failure, including changes by operators that may be its cause."""
    changes = AT_START.changes()
    if not changes:
        return message
    return f"{message} (an operator has changed {', '.join(changes)} of its worker, which may be the cause)"
