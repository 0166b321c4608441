"""The measuring side: `python -m bench.child PEER`, in the system's environment.

It imports the system once, then forks a process for each task that it reads, a JSON object a line. Every
measurement so has a process of its own without paying for imports. What a task reports goes to a file it names, for
some libraries print.
"""

import gc
import json
import os
import resource
import sys
import tempfile
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import peers
from bench.cases import CASES, Case, Tally, Task, TimeCap, cap
from bench.content import digest
from bench.peers.peer import Peer, Unsupported

ENOUGH_SECONDS = 0.3
MOST_PASSES = 30
# However little of it was measured, so that slow opening does not make a case slow.
MOST_SECONDS = 2.0
_BLOCK = 1 << 20


def main() -> None:
    """Serve tasks until the input ends."""
    peer = peers.every()[sys.argv[1]]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        task = json.loads(line)
        failure = _prepare(peer, task["case"])
        pid = os.fork() if failure is None else 0
        if pid == 0 and failure is None:
            _work(peer, task)
        answers.write(json.dumps({"pid": pid}) + "\n")
        status = 0
        if failure is None:
            status = os.waitpid(pid, 0)[1]
        else:
            Path(task["report"]).write_text(json.dumps({"failed": failure}))
        answers.write(json.dumps({"status": status}) + "\n")


def _prepare(peer: Peer, case: str) -> str | None:
    """Import what the clock must not see; the error's text when that fails."""
    try:
        for module in (*peer.modules, *(CASES[case].modules if case in CASES else ())):
            import_module(module)
        gc.collect()
        gc.freeze()  # what was imported is neither searched nor copied by the processes to come
    except Exception as error:  # noqa: BLE001 - the report names it
        return f"cannot be imported: {type(error).__name__}: {error}"
    return None


def _work(peer: Peer, order: dict[str, Any]) -> None:
    """Do one task in this process and end it."""
    scratch = Path(order["scratch"])
    os.chdir(scratch)
    os.environ.update(TMPDIR=str(scratch), HF_HOME=str(scratch / "huggingface"))
    tempfile.tempdir = str(scratch)
    peer.out = Path(order["out"])
    task = Task(peer, peer.out, Path(order["source"]), order["samples"], order["reads"])
    try:
        if order["case"] == "content":
            report: dict[str, Any] = {"digest": digest(map(peer.plain, peer.stream(peer.open(task.out))))}
        else:
            report = measure(CASES[order["case"]], task, order["cap"])
    except Unsupported as reason:
        report = {"unsupported": str(reason)}
    except BaseException as error:  # noqa: BLE001 - the process ends here in any case
        traceback.print_exc()
        report = {"failed": f"{type(error).__name__}: {error}"[:300]}
    Path(order["report"]).write_text(json.dumps(report))
    # Without the peer's farewell: some hang in threads of their own.
    os._exit(0)


def measure(case: Case, task: Task, seconds: float) -> dict[str, Any]:
    """Prepare, then run for long enough; every pass opens the files again and must give the same number."""
    _ = task.permutation, task.some
    wall = user = system = 0.0
    tally = Tally()
    passes = 0
    private = _private()
    Path("/proc/self/clear_refs").write_text("5")  # resets the highest resident size
    started = time.monotonic()
    while passes == 0 or (
        case.kind == "read"
        and not case.cold
        and wall < ENOUGH_SECONDS
        and passes < MOST_PASSES
        and time.monotonic() - started < MOST_SECONDS
    ):
        if not case.cold:
            warm(task.source if case.kind == "write" else task.out)
        prepared = case.prepare(task)
        if case.cold:
            chill(task.out)
        gc.collect()
        before = clock()
        try:
            with cap(seconds - wall):
                done = case.run(task, prepared)
        except TimeCap:
            done = Tally(capped=True)
        after = clock()
        done.settle()
        wall, user, system = (
            total + now - then for total, now, then in zip((wall, user, system), after, before, strict=True)
        )
        if passes and not done.capped and done.checksum != tally.checksum:
            raise RuntimeError("two passes over the same store read different things")
        tally = Tally(tally.samples + done.samples, done.checksum, done.capped)
        passes += 1
        del prepared
        if done.capped:
            break
    return {
        "wall": wall,
        "cpu": user + system,
        "user": user,
        "system": system,
        "rss_peak": _status("VmHWM"),
        "samples": tally.samples,
        "passes": passes,
        "checksum": tally.checksum,
        "capped": tally.capped,
        "started": started,
        "stopped": time.monotonic(),
        "private_before": private,
        "private_after": _private(),
    }


def clock() -> tuple[float, float, float]:
    """Wall seconds; user and system seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(usage.ru_utime for usage in used), sum(usage.ru_stime for usage in used)


def warm(path: Path) -> None:
    """Bring a file, or every file of a directory, into the page cache."""
    buffer = bytearray(_BLOCK)
    for file in _files(path):
        with file.open("rb", buffering=0) as reader:
            while reader.readinto(buffer):
                pass


def chill(path: Path) -> None:
    """Have none of it in the page cache; pages that are mapped and touched stay."""
    for file in _files(path):
        with file.open("rb") as reader:
            os.fsync(reader.fileno())
            os.posix_fadvise(reader.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


def _private() -> int:
    return _status("RssAnon") + _status("RssShmem")


def _status(name: str) -> int:
    """A figure of this process in bytes."""
    with Path("/proc/self/status").open() as status:
        return sum(int(line.split()[1]) for line in status if line.startswith(name)) * 1024


if __name__ == "__main__":
    main()
