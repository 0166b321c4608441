"""Runs one measurement in a process of the system's environment and looks at its memory and disk meanwhile."""

import resource
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cases import CASES, Case
from bench.child import warm
from bench.data import Source
from bench.environments import ROOT
from bench.system import Failure, System, environment, last_line, size

_START_TIMES = 5
_START_SECONDS = 2.0
_GRACE_SECONDS = 60
# Writing may take this many times as long as reading.
_WRITE_CAPS = 10


@dataclass(frozen=True)
class Settings:
    """What is the same for all measurements of a run."""

    reads: int
    cap: float


def measure(system: System, case: Case, source: Source, out: Path, settings: Settings) -> dict[str, Any]:
    """One measurement.

    Raises:
        Failure: It did not end well.
    """
    if case.kind == "start":
        return _start(system, out)
    parquet = source.snappy if case.name == "write_snappy" else source.parquet
    task = {
        "case": case.name,
        "out": str(out),
        "source": str(parquet),
        "samples": source.samples,
        "reads": settings.reads,
        "cap": settings.cap * (1 if case.kind == "read" else _WRITE_CAPS),
    }
    on_disk = out if case.kind in ("write", "paper") else None
    report, watched = system.do(task, task["cap"] + _GRACE_SECONDS, on_disk and on_disk.parent, on_disk)
    if on_disk:
        report["bytes"] = size(out)
        report["bytes_peak"] = max(watched.disk, report["bytes"])
    if "started" in report:
        during = [used for at, used in watched.memory if report["started"] <= at <= report["stopped"]]
        report["private_peak"] = max([*during, report["private_after"]]) - report["private_before"]
    return report


def content(system: System, source: Source, out: Path, settings: Settings) -> str:
    """The digest of everything in a store.

    Raises:
        Failure: It cannot be read.
    """
    task = {"case": "content", "out": str(out), "source": "", "samples": source.samples, "reads": settings.reads}
    report, _ = system.do(task, _WRITE_CAPS * settings.cap + _GRACE_SECONDS)
    if "unsupported" in report:
        raise Failure(report["unsupported"])
    return report["digest"]


def write(system: System, source: Source, out: Path, settings: Settings) -> None:
    """Fill a store without measuring.

    Raises:
        Failure: It could not be written, or holds something else than the source.
    """
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    report = measure(system, CASES["write"], source, out, Settings(settings.reads, 600))
    if "unsupported" in report:
        raise Failure(report["unsupported"])
    check(system, source, out, settings)


def check(system: System, source: Source, out: Path, settings: Settings) -> None:
    """Compare the content of a store with the source.

    Raises:
        Failure: They differ.
    """
    if system.peer.checked and content(system, source, out, settings) != source.digest:
        raise Failure("what it reads back differs from the source")


def _start(system: System, out: Path) -> dict[str, Any]:
    """From starting the interpreter to the first sample's id and image; the median of a few new processes."""
    snippet = system.peer.snippet
    if not snippet:
        return {"unsupported": "has no script for this"}
    script = f"path, root = {str(out)!r}, {str(ROOT)!r}\n{snippet}\nimport time\nprint(time.monotonic())\n"
    warm(out)
    with tempfile.TemporaryDirectory() as scratch:
        _seconds_to_print(system, script, scratch)  # compiles what was never imported before
        measured: list[tuple[float, float]] = []
        while len(measured) < _START_TIMES and sum(wall for wall, _ in measured) < _START_SECONDS:
            measured.append(_seconds_to_print(system, script, scratch))
    wall, cpu = sorted(measured)[len(measured) // 2]
    return {"wall": wall, "cpu": cpu, "samples": 1, "passes": 1, "checksum": 0, "capped": False}


def _seconds_to_print(system: System, script: str, scratch: str) -> tuple[float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(
        [system.python, "-c", script], env=environment(), cwd=scratch, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Failure(last_line(done.stderr))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(done.stdout.strip().splitlines()[-1]) - started, cpu
