"""Copying, saved views, added columns and filters: `make bench-views` writes the page and its data.

python -m bench.views --save docs/benchmarks
python -m bench.views --media 200 --rows 2000 --many 100000 --lines 2000 --rounds 1
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
from bench.views import columns, copying, filters
from bench.views.page import page
from jinx import _core

_PACKAGES = ("datasets", "duckdb", "pyarrow")


def versions() -> dict[str, str]:
    """Of all that is measured; Lance only where it could be installed."""
    found = {name: version(name) for name in _PACKAGES}
    with contextlib.suppress(environments.InstallError):
        found |= environments.versions(environments.python_of("lance"), ("pylance",))
    return {"jinx": f"{jinx.__version__} ({_core.build_profile})", **found}


def main() -> None:
    """Measure; print, or save the page."""
    parser = argparse.ArgumentParser(prog="bench.views")
    parser.add_argument("--media", type=int, default=4000, help="Samples of 48 kB that are copied.")
    parser.add_argument("--rows", type=int, default=80_000, help="Rows of 1.2 kB.")
    parser.add_argument("--many", type=int, default=10_000_000, help="Samples that get a float column.")
    parser.add_argument("--lines", type=int, default=100_000, help="JSON lines of 1.3 kB that are filtered.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", type=Path, help="Where to write; a temporary directory if not given.")
    parser.add_argument("--save", type=save_directory, help="The directory for views.md and views.json.")
    given = parser.parse_args()
    sizes = {name: getattr(given, name) for name in ("media", "rows", "many", "lines")}
    started = time.monotonic()
    about = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.views {' '.join(f'--{name} {size}' for name, size in sizes.items())} "
        f"--rounds {given.rounds}",
        "machine": machine(),
        "versions": versions(),
        "samples": sizes,
    }
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        place = Path(directory)
        records = copying.run(place, given.media, given.rows, given.rounds)
        records += columns.touching(place, given.rounds)
        records += filters.run(place, given.lines, given.rounds)
        columns.write_many(place / "many.jinx", given.many)
        records += columns.adding(place, given.many, given.rounds)
        records += columns.opening(place, given.rounds)
        records += filters.indexed(place, given.many, given.rounds)
    seconds = round(time.monotonic() - started)
    result = {**about, "load": os.getloadavg()[0], "seconds": seconds, "records": records}
    publish("views", result, page(result), given.save)


if __name__ == "__main__":
    main()
