"""A system at work: its process, its memory and its disk."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from bench.environments import ROOT
from bench.peers.peer import Peer

_MEMORY_SECONDS = 0.01
_DISK_SECONDS = 0.05


class Failure(Exception):  # noqa: N818 - a result like any other
    """The system failed; the text is its last line."""


class Watch(threading.Thread):
    """Watches the memory of a process and its children, and the bytes in directories; stops it when it is late."""

    def __init__(self, pid: int, directories: list[Path], seconds: float) -> None:
        super().__init__(daemon=True)
        self.pid, self.directories = pid, directories
        self.deadline = time.monotonic() + seconds
        self.late = False
        self.memory: list[tuple[float, int]] = []
        self.disk = 0
        self.done = threading.Event()

    def run(self) -> None:
        """The thread's work."""
        looked = 0.0
        while not self.done.wait(_MEMORY_SECONDS):
            now = time.monotonic()
            if now > self.deadline and not self.late and self.pid:
                self.late = True
                os.kill(self.pid, signal.SIGKILL)
            self.memory.append((now, _private(self.pid)))
            if self.directories and now - looked > _DISK_SECONDS:
                self.disk, looked = max(self.disk, sum(map(size, self.directories))), now


def _private(pid: int) -> int:
    """Anonymous bytes of a process and its children. Pages that forked processes share count in each."""
    total = 0
    try:
        with open(f"/proc/{pid}/status") as status:  # noqa: PTH123 - read very often
            total = sum(int(line.split()[1]) * 1024 for line in status if line.startswith(("RssAnon", "RssShmem")))
        with open(f"/proc/{pid}/task/{pid}/children") as children:  # noqa: PTH123
            total += sum(_private(int(child)) for child in children.read().split())
    except OSError:
        pass
    return total


def size(directory: Path) -> int:
    """Bytes of all files below a directory, also while they come and go."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - many small calls
            except OSError:
                continue
    return total


def environment() -> dict[str, str]:
    """What a system sees: no look-ups in the network, and compiled modules kept as for any user."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "LITDATA_DISABLE_VERSION_CHECK": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONWARNINGS": "ignore",
        # Numpy's second thread spins for a moment after its start, which counts as CPU time of whoever imports it.
        "OPENBLAS_NUM_THREADS": "1",
    }


class System:
    """A peer with its environment, and the process that has imported it."""

    def __init__(self, peer: Peer, python: Path) -> None:
        self.peer, self.python = peer, python
        self._process: subprocess.Popen[str] | None = None
        self._orders: IO[str]
        self._answers: IO[str]
        self._errors = tempfile.NamedTemporaryFile("w+", prefix="bench-")  # noqa: SIM115 - lives as long as this

    @property
    def store(self) -> str:
        """The name of the directory that it reads."""
        return self.peer.store or self.peer.name

    def close(self) -> None:
        """End its process."""
        if self._process is not None:
            self._orders.close()
            self._process.wait()
            self._process = None

    def do(
        self, task: dict[str, Any], seconds: float, temporary: Path | None = None, watched: Path | None = None
    ) -> tuple[dict[str, Any], Watch]:
        """Have a task done in a forked process.

        Its temporary files are in the directory `temporary`. The bytes in `watched` and of temporary files are watched.

        Raises:
            Failure: It ended badly or took too long.
        """
        with tempfile.TemporaryDirectory(dir=temporary, prefix=".scratch-", ignore_cleanup_errors=True) as scratch:
            report = Path(scratch) / "report.json"
            order = {**task, "peer": self.peer.name, "scratch": scratch, "report": str(report)}
            pid = self._send(order)
            watch = Watch(pid, [] if watched is None else [watched, Path(scratch)], seconds)
            watch.start()
            answer = self._answer()
            watch.done.set()
            watch.join()
            if watch.late:
                raise Failure(f"took longer than {seconds:.0f} s and was stopped")
            if answer.get("status") or not report.exists():
                raise Failure(self._last_words() or f"ended with status {answer.get('status')}")
            found = json.loads(report.read_text())
        if "failed" in found:
            raise Failure(found["failed"])
        return found, watch

    def _send(self, order: dict[str, Any]) -> int:
        if self._process is None:
            self._start()
        try:
            self._orders.write(json.dumps(order) + "\n")
            self._orders.flush()
        except BrokenPipeError:
            pass  # the answer tells
        return self._answer()["pid"]

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [self.python, "-m", "bench.child", self.peer.name],
            env=environment()
            | {"PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise Failure("could not be started")
        self._orders, self._answers = self._process.stdin, self._process.stdout

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line and self._process is not None:
            self._process.wait()
            self._process = None
        if not line:
            raise Failure(self._last_words() or "ended before it began")
        return json.loads(line)

    def _last_words(self) -> str:
        self._errors.seek(0)
        return last_line(self._errors.read())


def last_line(errors: str) -> str:
    """What a traceback ends with."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
