"""Packers compared: `make bench-packing` writes docs/benchmarks/packing.json and packing.md.

Every measurement is a process of its own, contestants take turns, and medians count: first the packers, then what the
packing loader costs, then the loader next to those of other projects.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import environments
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.packing.lengths import DISTRIBUTIONS
from bench.packing.loader_page import TITLES
from bench.packing.measure import OURS
from bench.packing.other_packers import OTHERS
from bench.packing.page import page

_IN_ENVIRONMENT = ("axolotl", "TRL")
_PACKAGES = ("axolotl", "trl", "numba", "numpy")
LARGE = 100_000_000
FEED_ENVIRONMENT, FEED_PACKAGES = "packed-loaders", ("litdata", "mosaicml-streaming", "torch", "tokenizers", "pillow")
FEED_WORKERS = 2
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def child(python: Path, module: str, arguments: list[str]) -> dict[str, Any]:
    """What a module prints in a fresh process, as JSON in its last line; `failed` says why there is nothing."""
    done = subprocess.run(
        [str(python), "-W", "ignore", "-m", f"bench.packing.{module}", *arguments],
        cwd=environments.ROOT,
        env=os.environ | _ONE_THREAD | {"PYTHONPATH": f"python{os.pathsep}examples"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def ours(python: Path, module: str, arguments: list[str]) -> dict[str, Any]:
    """The same, which has to succeed.

    Raises:
        RuntimeError: It did not.
    """
    found = child(python, module, arguments)
    if "failed" in found:
        raise RuntimeError(found["failed"])
    return found


def python_of(contestant: str) -> Path:
    """The interpreter that has a contestant's packages."""
    return environments.python_of("packing" if contestant.startswith(_IN_ENVIRONMENT) else "")


def run(rounds: int, chosen: list[str]) -> list[dict[str, Any]]:
    """Every contestant on every distribution, alternately."""
    records: list[dict[str, Any]] = []
    for distribution in DISTRIBUTIONS:
        for number in range(rounds):
            # The speed of the others is context, and theirs to improve: once is enough.
            for contestant in chosen if number == 0 else [name for name in chosen if name in OURS]:
                measure = ours if contestant in OURS else child
                found = measure(python_of(contestant), "measure", [contestant, distribution])
                records.append({"distribution": distribution, "contestant": contestant, "round": number, **found})
                print(f"{distribution:10} {contestant:48} {_told(found)}", flush=True)
    return records


def _told(found: dict[str, Any]) -> str:
    if "failed" in found:
        return str(found["failed"])
    speed = found["samples"] / found["cpu"] / 1e6
    return f"{found['efficiency']:.2%} {found['over_bound']:+.3%} {speed:.3f} M/s"


def run_feeds(samples: int, rounds: int) -> dict[str, Any]:
    """An epoch of each loader, alternately, over the same samples.

    Raises:
        RuntimeError: One of ours failed, or they did not deliver the same tokens.
    """
    python = environments.python_of(FEED_ENVIRONMENT)
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        ours(python, "feed_stores", [folder, str(samples)])
        for number in range(rounds):
            for name in TITLES:
                measure = ours if name.startswith("jinx") else child
                found = measure(python, "feeds", [name, folder, str(FEED_WORKERS)])
                records.append({"feed": name, "round": number, **found})
                print(f"{name:16} {found.get('failed') or found['batches'] / found['wall']} batches/s", flush=True)
    if len({record["tokens"] for record in records if "tokens" in record}) != 1:
        raise RuntimeError("the loaders did not deliver the same tokens")
    versions = environments.versions(python, FEED_PACKAGES)
    return {"samples": samples, "workers": FEED_WORKERS, "rounds": rounds, "versions": versions, "records": records}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", type=int, default=LARGE, help="samples of the plan whose memory is measured")
    parser.add_argument("--only", nargs="+", default=[*OURS, *OTHERS], help="contestants")
    parser.add_argument("--loader-samples", type=int, default=2000, help="samples for the cost of the loader")
    parser.add_argument("--feed-samples", type=int, default=4000, help="samples for the loaders next to each other")
    parser.add_argument("--save", type=save_directory, help="directory that packing.json and packing.md are written to")
    options = parser.parse_args()
    started = time.monotonic()
    here = Path(sys.executable)
    records = run(options.rounds, options.only)
    results: dict[str, Any] = {
        "about": {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "command": f"python -m bench.packing --rounds {options.rounds} --large {options.large} "
            f"--loader-samples {options.loader_samples} --feed-samples {options.feed_samples}",
            "left_out": [name for name in [*OURS, *OTHERS] if name not in options.only],
            "machine": machine(),
            "load": os.getloadavg()[0],
            "versions": environments.versions(environments.python_of("packing"), _PACKAGES),
        },
        "records": records,
        "large": ours(here, "measure", ["large", str(options.large)]),
        "loader": ours(here, "loader", [str(options.loader_samples), str(options.rounds)]),
        "feeds": run_feeds(options.feed_samples, options.rounds),
    }
    results["about"]["seconds"] = round(time.monotonic() - started)
    publish("packing", results, page(results), options.save)


if __name__ == "__main__":
    main()
