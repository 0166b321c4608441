"""One measurement in a process of its own: `python -m bench.child TASK`, with the task as JSON; prints a JSON line.

It runs in the contestant's environment, so it imports nothing but the standard library and the contestant.
"""

import gc
import json
import os
import resource
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import peers
from bench.cases import CASES, Case, Tally, Task, cap
from bench.content import digest
from bench.peers.peer import Unsupported

ENOUGH_SECONDS = 0.3
MOST_PASSES = 30
_BLOCK = 1 << 20


def main() -> None:
    """Do the task that stands on the command line."""
    order = json.loads(sys.argv[1])
    peer = peers.every()[order["peer"]]
    peer.out = Path(order["out"])
    task = Task(peer, Path(order["out"]), Path(order["source"]), order["samples"], order["reads"])
    try:
        if order["case"] == "content":
            report: dict[str, Any] = {"digest": digest(map(peer.plain, peer.stream(peer.open(task.out))))}
        else:
            report = measure(CASES[order["case"]], task, order["cap"])
    except Unsupported as reason:
        report = {"unsupported": str(reason)}
    sys.stdout.write("\n" + json.dumps(report) + "\n")
    sys.stdout.flush()
    # Without the peer's farewell: some hang in threads of their own.
    os._exit(0)


def measure(case: Case, task: Task, seconds: float) -> dict[str, Any]:
    """Prepare and run until enough time has been measured; every pass opens anew and must give the same number."""
    _ = task.permutation, task.some
    for module in (*task.peer.modules, *case.modules):
        import_module(module)
    wall = cpu = 0.0
    tally = Tally()
    passes = 0
    private = _private()
    started = time.monotonic()
    cap(seconds)
    while passes == 0 or (case.kind == "read" and not case.cold and wall < ENOUGH_SECONDS and passes < MOST_PASSES):
        if not case.cold:
            warm(task.source if case.kind == "write" else task.out)
        else:
            chill(task.out)
        prepared = case.prepare(task)
        gc.collect()
        before = clock()
        done = case.run(task, prepared)
        after = clock()
        wall, cpu = wall + after[0] - before[0], cpu + after[1] - before[1]
        if passes and not done.capped and done.checksum != tally.checksum:
            raise RuntimeError("two passes over the same store read different things")
        tally = Tally(tally.samples + done.samples, done.checksum, done.capped)
        passes += 1
        del prepared
        if done.capped:
            break
    return {
        "wall": wall,
        "cpu": cpu,
        "samples": tally.samples,
        "passes": passes,
        "checksum": tally.checksum,
        "capped": tally.capped,
        "started": started,
        "stopped": time.monotonic(),
        "private_before": private,
        "private_after": _private(),
    }


def clock() -> tuple[float, float]:
    """Wall seconds, and CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in used)


def warm(path: Path) -> None:
    """Have a file, or every file of a folder, in the page cache."""
    buffer = bytearray(_BLOCK)
    for file in _files(path):
        with file.open("rb", buffering=0) as reader:
            while reader.readinto(buffer):
                pass


def chill(path: Path) -> None:
    """Have none of it in the page cache."""
    for file in _files(path):
        with file.open("rb") as reader:
            os.fsync(reader.fileno())
            os.posix_fadvise(reader.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


def _private() -> int:
    with Path("/proc/self/status").open() as status:
        return sum(int(line.split()[1]) for line in status if line.startswith(("RssAnon", "RssShmem"))) * 1024


if __name__ == "__main__":
    main()
