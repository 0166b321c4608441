"""Cold files: `make bench-cold` writes the page and its data.

    python -m bench.cold --save docs/benchmarks
    python -m bench.cold --samples 2000 --rounds 1 --base ../older/python

Every measurement is a process of its own, and the contestants take turns. `--base` is the `python` directory of a
checkout with an older build in it. Without it, nothing says what reading ahead has won.
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

import jinx
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.cold.contestants import ITERATE, LOADER, TAKE
from bench.cold.page import page
from bench.views.copying import write_media
from jinx import _core

_REPOSITORY = Path(__file__).resolve().parents[2]
_CASES = {ITERATE: ("dd", "jinx", "base", "python"), TAKE: ("jinx", "base", "python"), LOADER: ("jinx", "base")}


def measured(case: str, contestant: str, data: Path, given: argparse.Namespace, state: str) -> dict[str, Any]:
    """One contestant in one case."""
    base = [str(given.base)] if contestant == "base" else [str(_REPOSITORY / "python")]
    command = [sys.executable, "-m", "bench.cold.contestants", case, contestant, str(data), str(given.samples), state]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*base, str(_REPOSITORY)])}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return {"case": case, "contestant": contestant, "state": state, **json.loads(done.stdout.splitlines()[-1])}


def run(data: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Every case by every contestant, alternately; a warm pass follows a pass of the same contestant."""
    records: list[dict[str, Any]] = []
    for number in range(given.rounds):
        for case, contestants in _CASES.items():
            taking_part = [name for name in contestants if name != "base" or given.base]
            for state in ("cold", "warm"):
                # The first of a round gains or loses by what ran before it.
                for contestant in taking_part[number % len(taking_part) :] + taking_part[: number % len(taking_part)]:
                    records.append({**measured(case, contestant, data, given, state), "round": number})
                    print(json.dumps(records[-1]), flush=True)
    return records


def main() -> None:
    """Measure; print, or save the page."""
    parser = argparse.ArgumentParser(prog="bench.cold")
    parser.add_argument("--samples", type=int, default=13_640, help="Samples of 48 kB.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--base", type=Path, help="The directory of an older build of jinx to compare with.")
    parser.add_argument("--directory", type=Path, help="Where to write; a temporary directory if not given.")
    parser.add_argument("--save", type=save_directory, help="The directory for cold.md and cold.json.")
    given = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        data = write_media(Path(directory) / "media.jinx", given.samples)
        records = run(data, given)
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.cold --samples {given.samples} --rounds {given.rounds}",
        "machine": machine(),
        "load": os.getloadavg()[0],
        "versions": {"jinx": f"{jinx.__version__} ({_core.build_profile})"},
        "seconds": round(time.monotonic() - started),
        "samples": given.samples,
        "base": given.base is not None,
        "records": records,
    }
    publish("cold", result, page(result), given.save)


if __name__ == "__main__":
    main()
