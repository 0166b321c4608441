"""A whole program measured: CPU time of all its processes, and the most memory that they had together."""

import os
import subprocess
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_SECONDS = 0.1


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
    """Run a program to its end."""
    started, before = time.monotonic(), os.times()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment
    )
    peak = [0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_SECONDS):
            peak[0] = max(peak[0], memory_of(process.pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    output = process.communicate()[0]
    done.set()
    watcher.join()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Measured(process.returncode, time.monotonic() - started, cpu, peak[0], output[-2000:])


def memory_of(pid: int) -> int:
    """Bytes of private memory of a process and those that come from it."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss_Anon:"):
                total += int(line.split()[1]) * 1024
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(memory_of(int(child)) for child in (task / "children").read_text("ascii").split())
    except OSError:
        pass  # it has ended
    return total
