"""Packers compared: `make bench-packing` writes docs/benchmarks/packing.json and packing.md.

Every measurement is a process of its own; JINX packs five times in it and medians count. Contestants take turns.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import environments
from bench.campaign import commit, machine
from bench.packing.lengths import DISTRIBUTIONS
from bench.packing.measure import OURS
from bench.packing.other_packers import OTHERS
from bench.packing.page import page

_IN_ENVIRONMENT = ("axolotl", "TRL")
_PACKAGES = ("axolotl", "trl", "numba", "numpy")
LARGE = 100_000_000


def child(python: Path, arguments: list[str]) -> dict[str, Any]:
    """One measurement in a fresh process; `failed` says why there is none."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "PYTHONPATH": "python"}
    done = subprocess.run(
        [str(python), "-W", "ignore", "-m", "bench.packing.measure", *arguments],
        cwd=environments.ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
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
                found = child(python_of(contestant), [contestant, distribution])
                if "failed" in found and contestant in OURS:
                    raise RuntimeError(found["failed"])
                records.append({"distribution": distribution, "contestant": contestant, "round": number, **found})
                print(f"{distribution:10} {contestant:48} {_told(found)}", flush=True)
    return records


def _told(found: dict[str, Any]) -> str:
    if "failed" in found:
        return str(found["failed"])
    speed = found["samples"] / found["cpu"] / 1e6
    return f"{found['efficiency']:.2%} {found['over_bound']:+.3%} {speed:.3f} M/s"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", type=int, default=LARGE, help="samples of the plan whose memory is measured")
    parser.add_argument("--only", nargs="+", default=[*OURS, *OTHERS], help="contestants")
    parser.add_argument("--save", type=Path, help="folder that packing.json and packing.md are written to")
    options = parser.parse_args()
    started = time.monotonic()
    records = run(options.rounds, options.only)
    results = {
        "about": {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "command": f"python -m bench.packing --rounds {options.rounds} --large {options.large}",
            "left_out": [name for name in [*OURS, *OTHERS] if name not in options.only],
            "machine": machine(),
            "load": os.getloadavg()[0],
            "versions": environments.versions(environments.python_of("packing"), _PACKAGES),
        },
        "records": records,
        "large": child(Path(sys.executable), ["large", str(options.large)]),
    }
    results["about"]["seconds"] = round(time.monotonic() - started)
    text = page(results)
    if options.save:
        (options.save / "packing.json").write_text(json.dumps(results, indent=1) + "\n")
        (options.save / "packing.md").write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
