"""A whole program measured: CPU time of all its processes, and the most memory that they had together."""

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jinx_pipeline.worker.periodic_call import calling_every

_SECONDS = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """What a program took.

    Attributes:
        code: Its exit code.
        wall: Seconds.
        cpu: CPU seconds, of its children too.
        memory: Bytes of memory of all processes together at the highest; shared pages count once (PSS).
        output: The end of what it printed.
    """

    code: int
    wall: float
    cpu: float
    memory: int
    output: str

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dict."""
        return asdict(self)


def measured(command: list[str], environment: dict[str, str] | None = None, folder: Path | None = None) -> Measured:
    """Run a program to its end; Python may compile the modules that it imports, as an installer does."""
    given = os.environ if environment is None else environment
    environment = {name: value for name, value in given.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started, before = time.monotonic(), os.times()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment
    )
    peak = 0

    def look() -> None:
        nonlocal peak
        peak = max(peak, memory_of(process.pid))

    with calling_every(look, _SECONDS):
        output = process.communicate()[0]
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Measured(process.returncode, time.monotonic() - started, cpu, peak, output[-2000:])


def memory_of(pid: int) -> int:
    """Bytes of private memory of a process and those that come from it."""
    return private_bytes(pid) + sum(memory_of(child) for child in children_of(pid))


def private_bytes(pid: int) -> int:
    """Bytes of private memory of one process; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Anon:"))


def children_of(pid: int) -> list[int]:
    """The processes that a process has started; none if it has ended."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text("ascii").split())
    return found


def used_cpu(pid: int) -> float:
    """CPU seconds that one process has used so far.

    Raises:
        OSError: It has ended.
    """
    user, system = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / _TICKS
