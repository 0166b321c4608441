"""The viewer on many samples: `make bench-view` writes the page and its data.

    python -m bench.view --save docs/benchmarks
    python -m bench.view --samples 200000 --rounds 1

Needs Chromium and Playwright.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import jinx
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.view.data import write
from bench.view.measure import measure, rows_bytes
from bench.view.page import page
from jinx import _core


def main() -> None:
    """Measure; print, or save the page."""
    parser = argparse.ArgumentParser(prog="bench.view")
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="Where to write; a temporary directory if not given.")
    parser.add_argument(
        "--data", type=Path, help="A dataset that an earlier run has left; it is made if it does not exist."
    )
    parser.add_argument("--save", type=save_directory, help="The directory for view.md and view.json.")
    given = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        data = given.data or Path(directory) / "data"
        if not data.exists():
            write(data, given.samples)
        samples, searched = len(jinx.open(data)), rows_bytes(data)
        records = []
        for _ in range(given.rounds):
            records.append(measure(data))
            print(json.dumps(records[-1]), flush=True)
        shards = len(list(data.glob("*.jinx")))
    reached = {key: statistics.median(record[key] for record in records) for key in records[0]}
    reached["search_rate"] = searched / reached["search"]
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.view --samples {given.samples} --rounds {given.rounds}",
        "machine": machine(),
        "load": os.getloadavg()[0],
        "versions": {"jinx": f"{jinx.__version__} ({_core.build_profile})"},
        "seconds": round(time.monotonic() - started),
        "samples": samples,
        "shards": shards,
        "rounds": given.rounds,
        "records": records,
        "reached": reached,
    }
    publish("view", result, page(result), given.save)


if __name__ == "__main__":
    main()
