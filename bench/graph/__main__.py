"""Clips of videos, tables and graphs: `make bench-graph` writes the page and its data.

python -m bench.graph --save docs/benchmarks
python -m bench.graph --videos 4 --shortest 3 --longest 6 --large-mb 0 --rows 20000 --texts 5000 --rounds 1
"""

import argparse
import os
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import jinx
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.graph import cases
from bench.graph.page import page
from jinx import _core

_PACKAGES = ("av", "ray", "psycopg", "pgserver")


def main() -> None:
    """Measure; print, or save the page."""
    parser = argparse.ArgumentParser(prog="bench.graph")
    parser.add_argument("--videos", type=int, default=200, help="Videos of 360p.")
    parser.add_argument("--shortest", type=int, default=10, help="Seconds of the shortest.")
    parser.add_argument("--longest", type=int, default=120, help="Seconds of the longest.")
    parser.add_argument("--large-mb", type=int, default=4000, help="The size of one more video; 0: none.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="Rows that are upserted.")
    parser.add_argument("--texts", type=int, default=200_000, help="Texts of the chain and the diamond.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="Where to write; a temporary directory if not given.")
    parser.add_argument("--save", type=save_directory, help="The directory for graph.md and graph.json.")
    given = parser.parse_args()
    sizes = {name: getattr(given, name) for name in ("videos", "shortest", "longest", "large_mb", "rows", "texts")}
    started = time.monotonic()
    options = " ".join(f"--{name.replace('_', '-')} {size}" for name, size in sizes.items())
    about = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.graph {options} --rounds {given.rounds}",
        "machine": machine(),
        "versions": {
            "jinx": f"{jinx.__version__} ({_core.build_profile})",
            **{name: version(name) for name in _PACKAGES},
        },
        "samples": sizes,
    }
    # As root, the server of PostgreSQL runs as another user, who may not enter a directory that only root may.
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        place = Path(directory)
        place.chmod(0o755)
        seconds = (given.shortest, given.longest)
        records = cases.clips(place / "videos", given.videos, seconds, given.large_mb * 1_000_000, given.rounds)
        records += cases.tables(place / "tables", given.rows, given.rounds)
        records += cases.diamond(place / "diamond", given.texts, given.rounds)
    result = {**about, "load": os.getloadavg()[0], "seconds": round(time.monotonic() - started), "records": records}
    publish("graph", result, page(result), given.save)


if __name__ == "__main__":
    main()
