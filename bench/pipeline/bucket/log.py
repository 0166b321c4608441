"""The log of a run of a billion samples in a bucket: how long a driver that takes over reads it, and its memory."""

import os
import time
from pathlib import Path
from typing import Any

from bench.pipeline.bucket.runs import FIRST_BYTE_SECONDS, bucket_place
from bench.pipeline.scale.__main__ import in_new_process
from bench.pipeline.scale.driver_side import drive, resume
from bench.pipeline.scale.simulation import Size

_WORKERS = 12_800


def measured_log(folder: Path, blocks: int) -> dict[str, Any]:
    """Run blocks on simulated workers with the log in a bucket, then read the log as a driver that resumes.

    Args:
        folder: A new directory.
        blocks: Blocks of the run.
    """
    size = Size(blocks, _WORKERS)
    with bucket_place(folder) as place:
        if place.bucket is None:
            raise RuntimeError("the place has no bucket")
        os.environ.update(place.environment)
        # The workers' clock jumps, so the log is written in less time than that of a real run, in fewer objects.
        place.bucket.delay = 0.0
        url = place.path("work")
        driven = in_new_process(drive, url, size)
        objects = list(place.file("work").glob("runs/*/log.jsonl/*"))
        place.bucket.delay = FIRST_BYTE_SECONDS
        read = in_new_process(read_log, url)
        again = in_new_process(resume, url, size, time.time())
    return {
        "blocks": blocks,
        "objects": len(objects),
        "bytes": sum(file.stat().st_size for file in objects),
        "seconds": read,
        "resume_seconds": again["wall"],
        "memory": max(driven["memory"], again["memory"]),
    }


def read_log(url: str) -> float:
    """Open the log of a working directory, and read all of it; returns seconds."""
    from jinx_pipeline.runlog.ledger import Ledger
    from jinx_pipeline.runlog.work_dir import WorkDir

    with WorkDir(url) as work_dir:
        directory = work_dir.current()
        if directory is None:
            raise RuntimeError(f"{url} has no run")
        started = time.perf_counter()
        with Ledger(directory):
            return time.perf_counter() - started
