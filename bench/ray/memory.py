"""The private memory of a program on Ray: its driver and workers, and apart from them the processes of Ray itself."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.pipeline.program import children_of, private_bytes
from jinx_pipeline.worker.periodic_call import calling_every

_LOOK_SECONDS = 0.1


@dataclass
class Memory:
    """The most bytes that were seen."""

    program: int = 0
    ray: int = 0

    def record(self) -> dict[str, Any]:
        """The same in MB."""
        return {"program_mb": round(self.program / 1e6), "ray_mb": round(self.ray / 1e6)}

    def look(self) -> None:
        """Look at all of its processes once."""
        program, ray = _bytes_of(os.getpid())
        self.program, self.ray = max(self.program, program), max(self.ray, ray)


@contextmanager
def memory_seen() -> Generator[Memory]:
    """What is seen while this context lasts, in which this process is the driver."""
    memory = Memory()
    with calling_every(memory.look, _LOOK_SECONDS):
        yield memory


def _bytes_of(pid: int, *, is_program: bool = True) -> tuple[int, int]:
    """Bytes of a process and of those that come from it: of driver and workers, and of all others."""
    found = [0, 0]
    found[not is_program] = private_bytes(pid)
    for child in children_of(pid):
        more = _bytes_of(child, is_program=_is_worker(child))
        found = [found[0] + more[0], found[1] + more[1]]
    return found[0], found[1]


def _is_worker(pid: int) -> bool:
    """Whether a process is one that Ray has started for tasks and actors, at work or not."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False
    return command.startswith(b"ray::") or b"default_worker.py" in command
