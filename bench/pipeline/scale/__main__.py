"""The driver side of a run of a billion samples on simulated workers: `make bench-scale` writes the page and its data.

python -m bench.pipeline.scale --save docs/benchmarks
python -m bench.pipeline.scale --blocks 20000 --workers 1600
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench import environments
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.pipeline.scale.driver_side import drive, make_parts, resume
from bench.pipeline.scale.growth import SHRUNK, complaint
from bench.pipeline.scale.page import page
from bench.pipeline.scale.passes import IN_ONE_PROCESS
from bench.pipeline.scale.simulation import Size
from bench.pipeline.scale.slices import slices
from bench.pipeline.scale.written import written


def in_new_process(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function where nothing else has used memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def measured(folder: Path, size: Size) -> dict[str, Any]:
    """All costs at a size."""
    print(f"{size.blocks:,} blocks, {size.workers:,} workers", file=sys.stderr)
    folder.mkdir()
    run = folder / "run"
    results: dict[str, Any] = {"blocks": size.blocks, "workers": size.workers}
    results["drive"] = in_new_process(drive, run, size)
    in_new_process(make_parts, run)
    results["resume"] = in_new_process(resume, run, size, time.time())
    results["slices"] = in_new_process(slices, folder / "slices", size)
    return results


def main() -> None:
    """Measure; print, or save the page. It fails where costs grow faster than the run."""
    parser = argparse.ArgumentParser(prog="bench.pipeline.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--blocks", type=int, default=156_250, help="blocks of 6,400 samples")
    parser.add_argument("--workers", type=int, default=12_800)
    parser.add_argument("--documents", type=int, default=40_000, help="of the real run that shows what is written")
    parser.add_argument("--save", type=save_directory, help="folder that scale.json and scale.md are written to")
    options = parser.parse_args()
    started, load = time.monotonic(), os.getloadavg()[0]
    environments.cache().mkdir(parents=True, exist_ok=True)
    size = Size(options.blocks, options.workers)
    with tempfile.TemporaryDirectory(prefix="scale-", dir=environments.cache()) as folder:
        results = {
            "small": measured(Path(folder) / "small", size.divided(SHRUNK)),
            "large": measured(Path(folder) / "large", size),
            "written": written(Path(folder) / "written", options.documents),
            "passes": [work.name for work in IN_ONE_PROCESS],
        }
    results["about"] = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.pipeline.scale --blocks {options.blocks} --workers {options.workers} "
        f"--documents {options.documents}",
        "machine": machine(),
        "load": load,
        "versions": environments.versions(Path(sys.executable), ("jinx-pipeline", "jinx-data", "numpy")),
        "seconds": round(time.monotonic() - started),
    }
    publish("scale", results, page(results), options.save)
    if (line := complaint(results)) is not None:
        sys.exit(f"bench.pipeline.scale: {line}")


if __name__ == "__main__":
    main()
