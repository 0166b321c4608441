"""Runs one measurement in a process of the contestant's environment and looks at its memory and disk meanwhile."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cases import CASES, Case
from bench.child import warm
from bench.data import Source
from bench.environments import ROOT
from bench.peers.peer import Peer

_MEMORY_SECONDS = 0.01
_DISK_SECONDS = 0.05
_START_TIMES = 5
_GRACE_SECONDS = 120


class Failure(Exception):  # noqa: N818 - a result like any other
    """The contestant failed; the text is its last line."""


@dataclass(frozen=True)
class Contestant:
    """A peer whose environment stands."""

    peer: Peer
    python: Path

    @property
    def store(self) -> str:
        """The name of the folder it reads."""
        return self.peer.store or self.peer.name


@dataclass(frozen=True)
class Settings:
    """What is the same for all measurements of a run."""

    reads: int
    cap: float


def measure(contestant: Contestant, case: Case, source: Source, out: Path, settings: Settings) -> dict[str, Any]:
    """One measurement.

    Raises:
        Failure: It did not end well.
    """
    if case.kind == "start":
        return _start(contestant, out)
    parquet = source.snappy if case.name == "write_snappy" else source.parquet
    task = {
        "peer": contestant.peer.name,
        "case": case.name,
        "out": str(out),
        "source": str(parquet),
        "samples": source.samples,
        "reads": settings.reads,
        "cap": settings.cap,
    }
    report, watched = _child(contestant, task, settings.cap + _GRACE_SECONDS, out if case.kind == "write" else None)
    if case.kind == "write":
        report["bytes"] = size(out)
        report["bytes_peak"] = max(watched.disk, report["bytes"])
    if "started" in report:
        during = [used for at, used in watched.memory if report["started"] <= at <= report["stopped"]]
        report["private_peak"] = max([*during, report["private_after"]]) - report["private_before"]
    return report


def content(contestant: Contestant, source: Source, out: Path, settings: Settings) -> str:
    """The digest of everything in a store.

    Raises:
        Failure: It cannot be read.
    """
    task = {"peer": contestant.peer.name, "case": "content", "out": str(out), "source": "", "samples": 0, "reads": 0}
    report, _ = _child(contestant, {**task, "samples": source.samples}, 10 * settings.cap + _GRACE_SECONDS)
    if "unsupported" in report:
        raise Failure(report["unsupported"])
    return report["digest"]


def write(contestant: Contestant, source: Source, out: Path, settings: Settings) -> None:
    """Fill a store without measuring.

    Raises:
        Failure: It could not be written, or holds something else than the source.
    """
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    name = "write" if source.kind == "jpeg" else "pixels_write"
    report = measure(contestant, CASES[name], source, out, Settings(settings.reads, 600))
    if "unsupported" in report:
        raise Failure(report["unsupported"])
    check(contestant, source, out, settings)


def check(contestant: Contestant, source: Source, out: Path, settings: Settings) -> None:
    """Compare the content of a store with the source.

    Raises:
        Failure: They differ.
    """
    if contestant.peer.checked and content(contestant, source, out, settings) != source.digest:
        raise Failure("what it reads back differs from the source")


def size(folder: Path) -> int:
    """Bytes of all files below a folder, also while they come and go."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - many small calls
            except OSError:
                continue
    return total


class _Watch(threading.Thread):
    """Looks at the memory of a process and its children, and at the bytes in a folder, until told to stop."""

    def __init__(self, pid: int, folder: Path | None) -> None:
        super().__init__(daemon=True)
        self.pid, self.folder = pid, folder
        self.memory: list[tuple[float, int]] = []
        self.disk = 0
        self.done = threading.Event()

    def run(self) -> None:
        looked = 0.0
        while not self.done.wait(_MEMORY_SECONDS):
            now = time.monotonic()
            self.memory.append((now, _private(self.pid)))
            if self.folder is not None and now - looked > _DISK_SECONDS:
                self.disk, looked = max(self.disk, size(self.folder)), now


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


def _environment(scratch: Path) -> dict[str, str]:
    """What a contestant sees: no network look-ups, its caches and temporary files where they are counted."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(scratch),
        "HF_HOME": str(scratch / "huggingface"),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "LITDATA_DISABLE_VERSION_CHECK": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONWARNINGS": "ignore",
    }


def _child(
    contestant: Contestant, task: dict[str, Any], seconds: float, folder: Path | None = None
) -> tuple[dict[str, Any], _Watch]:
    with tempfile.TemporaryDirectory(dir=folder, prefix=".scratch-") as scratch:
        process = subprocess.Popen(
            [contestant.python, "-m", "bench.child", json.dumps(task)],
            env=_environment(Path(scratch)),
            cwd=scratch,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        watch = _Watch(process.pid, folder)
        watch.start()
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure(f"took longer than {seconds:.0f} s and was stopped") from None
        finally:
            watch.done.set()
            watch.join()
    lines = output.strip().splitlines()
    if process.returncode != 0 or not lines:
        raise Failure(_last_line(errors) or f"ended with {process.returncode}")
    return json.loads(lines[-1]), watch


def _last_line(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _start(contestant: Contestant, out: Path) -> dict[str, Any]:
    """From starting the interpreter to the first sample's id and image; the median of a few new processes."""
    snippet = contestant.peer.snippet
    if not snippet:
        return {"unsupported": "no script of its own"}
    script = f"path, root = {str(out)!r}, {str(ROOT)!r}\n{snippet}\nimport time\nprint(time.monotonic())\n"
    warm(out)
    with tempfile.TemporaryDirectory() as scratch:
        # The first process compiles what was never imported before.
        seconds = sorted(_seconds_to_print(contestant, script, Path(scratch)) for _ in range(_START_TIMES + 1))
    wall, cpu = seconds[_START_TIMES // 2]
    return {"wall": wall, "cpu": cpu, "samples": 1, "checksum": 0, "capped": False}


def _seconds_to_print(contestant: Contestant, script: str, scratch: Path) -> tuple[float, float]:
    environment = _environment(scratch)
    del environment["PYTHONPATH"]
    before = os.times()
    started = time.monotonic()
    done = subprocess.run(
        [contestant.python, "-c", script], env=environment, cwd=scratch, capture_output=True, text=True, check=False
    )
    after = os.times()
    if done.returncode != 0:
        raise Failure(_last_line(done.stderr))
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return float(done.stdout.strip().splitlines()[-1]) - started, cpu
