"""What the driver side of a run costs: receipts a second, memory, and the time until a resumed run gives out work."""

import pickle
import time
from pathlib import Path
from typing import Any

from bench.pipeline.scale.simulation import SimulatedWorkers, Size, opened_run
from jinx_pipeline.plan.source import Source


def drive(folder: Path | str, size: Size) -> dict[str, Any]:
    """Run all blocks in a new directory.

    Args:
        folder: The directory, or the URL of one.
        size: Of the run.
    """
    workers = SimulatedWorkers()
    source = Source(("in",), manifest="0.parts.npy", order="0.npy", facts="facts.json")
    with opened_run(folder) as run:
        driver = run.driver(size, workers, source=source)
        wall, cpu = time.perf_counter(), time.process_time()
        driver.run()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    log = sum(path.stat().st_size for path in Path(folder).rglob("*.jsonl"))
    return {
        "receipts": size.blocks,
        "wall": wall,
        "cpu": cpu,
        "memory": peak_memory(),
        "log_bytes": log,
        "request_bytes": len(pickle.dumps(workers.first_request)),
    }


def resume(folder: Path | str, size: Size, started: float) -> dict[str, Any]:
    """Take up a run all of whose blocks but one are committed, up to the first lease.

    Args:
        folder: The directory that `drive` has left.
        size: Of the run, that block not counted.
        started: When this process was started, in seconds since the epoch.
    """
    cpu = time.process_time()
    workers = SimulatedWorkers()
    with opened_run(folder) as run:
        run.ledger.sweep()
        driver = run.driver(Size(size.blocks + 1, size.workers), workers)
        while not workers.requests:
            driver.step(0.0)
        done = {"wall": time.time() - started, "cpu": time.process_time() - cpu, "memory": peak_memory()}
        done["committed"] = size.blocks
    return done


def make_parts(folder: Path) -> int:
    """Put empty files in place of the parts that a simulated run has committed, for `resume` to list."""
    with opened_run(folder) as run:
        names = [str(part.part) for piece in run.ledger.all_pieces() for part in piece.parts()]
        for name in names:
            (run.directory.parts / name).touch()
    return len(names)


def peak_memory() -> int:
    """The most memory that this process has had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
