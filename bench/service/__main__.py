"""The service under load: `make bench-service` writes the page and its data.

python -m bench.service --save docs/benchmarks
python -m bench.service --seconds 3 --clients 8
"""

import argparse
import os
import time
from datetime import UTC, datetime

import jinx
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.service.measure import measure
from bench.service.page import page
from jinx import _core


def main() -> None:
    """Measure; print, or save the page."""
    parser = argparse.ArgumentParser(prog="bench.service")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--save", type=save_directory, help="The directory for service.md and service.json.")
    given = parser.parse_args()
    started, load = time.monotonic(), os.getloadavg()[0]
    reached = measure(given.seconds, given.clients, given.samples)
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.service --seconds {given.seconds:g} --clients {given.clients}",
        "machine": machine(),
        "load": load,
        "versions": {"jinx": f"{jinx.__version__} ({_core.build_profile})"},
        "seconds": round(time.monotonic() - started),
        "clients": given.clients,
        "reached": reached,
    }
    publish("service", result, page(result), given.save)


if __name__ == "__main__":
    main()
