"""The private memory of a program on Ray: its driver and workers, and apart from them the processes of Ray itself."""

import os
import threading
from pathlib import Path
from typing import Any, Self

_LOOK_SECONDS = 0.1


class Memory:
    """The most of it while this context lasts, in which this process is the driver."""

    def __init__(self) -> None:
        self._program = self._ray = 0
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()

    def record(self) -> dict[str, Any]:
        """What was found, in MB."""
        return {"program_mb": round(self._program / 1e6), "ray_mb": round(self._ray / 1e6)}

    def _watch(self) -> None:
        while not self._done.wait(_LOOK_SECONDS):
            program, ray = _look(os.getpid())
            self._program, self._ray = max(self._program, program), max(self._ray, ray)


def _look(pid: int, *, is_program: bool = True) -> tuple[int, int]:
    """Bytes of a process and of those that come from it: of driver and workers, and of all others."""
    found = [0, 0]
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss_Anon:"):
                found[not is_program] += int(line.split()[1]) * 1024
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text("ascii").split()):
                more = _look(child, is_program=_is_worker(child))
                found = [found[0] + more[0], found[1] + more[1]]
    except OSError:
        pass  # it has ended
    return found[0], found[1]


def _is_worker(pid: int) -> bool:
    """Whether a process is one that Ray has started for tasks and actors, at work or not."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    return command.startswith(b"ray::") or b"default_worker.py" in command
