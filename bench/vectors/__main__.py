"""Typed columns and vectors next to other systems: `make bench-vectors` writes the page and its data.

python -m bench.vectors --save docs/benchmarks
python -m bench.vectors --many 100000 --vectors 5000 --width 64 --rounds 1
"""

import argparse
import contextlib
import os
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import jinx
from bench import environments
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.vectors import columns, dedup, indexed, peers, search
from bench.vectors.page import page
from jinx import _core

_PACKAGES = ("numpy", "pyarrow")


def versions() -> dict[str, str]:
    """Of all that is measured; Lance and faiss only where they could be installed."""
    found = {name: version(name) for name in _PACKAGES}
    with contextlib.suppress(environments.InstallError):
        found |= environments.versions(environments.python_of(peers.ENVIRONMENT), ("pylance", "faiss-cpu"))
    return {"jinx": f"{jinx.__version__} ({_core.build_profile})", **found}


def main() -> None:
    """Measure; print, or save the page."""
    parser = argparse.ArgumentParser(prog="bench.vectors")
    parser.add_argument("--many", type=int, default=10_000_000, help="Samples that get a float column.")
    parser.add_argument("--vectors", type=int, default=1_000_000, help="Vectors that are written and searched.")
    parser.add_argument("--width", type=int, default=512, help="Numbers of each vector.")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="Where to write; a temporary directory if not given.")
    parser.add_argument("--save", type=save_directory, help="The directory for vectors.md and vectors.json.")
    given = parser.parse_args()
    sizes = {name: getattr(given, name) for name in ("many", "vectors", "width", "queries")}
    started = time.monotonic()
    about = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.vectors {' '.join(f'--{name} {size}' for name, size in sizes.items())} "
        f"--rounds {given.rounds}",
        "machine": machine(),
        "versions": versions(),
        "samples": sizes,
    }
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        place = Path(directory)
        cases = [
            lambda: columns.run(place, given.many, given.rounds),
            lambda: search.run(place, given.vectors, given.width, given.queries, given.rounds),
            lambda: dedup.run(place / "vectors.npy", max(given.rounds // 3, 1)),
            lambda: indexed.run(place, given.vectors, given.width, given.queries, given.rounds),
        ]
        records = [record for case in cases for record in case()]
    seconds = round(time.monotonic() - started)
    result = {**about, "load": os.getloadavg()[0], "seconds": seconds, "records": records}
    publish("vectors", result, page(result), given.save)


if __name__ == "__main__":
    main()
