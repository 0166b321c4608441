"""The pipeline on Ray next to others: `make bench-ray` writes ray.md, ray.json and ray.svg in docs/benchmarks.

Every run is a process of its own with a Ray cluster of its own. Ours are repeated where there is a target, and so is
what a target compares them with; the others run once.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinx
from bench import environments, system
from bench.about import save_directory
from bench.campaign import commit, machine
from bench.ray import OURS
from bench.ray.experiments import EXPERIMENTS
from bench.ray.page import TARGETS, page, picture
from jinx import _core

_RUN_SECONDS = 300


def measured(name: str, contestant: str, folder: Path) -> dict[str, Any]:
    """One run; `failed` says why there are no figures."""
    command = [sys.executable, "-W", "ignore", "-m", "bench.ray.experiments", name, contestant, str(folder)]
    environment = system.environment() | {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(environments.ROOT)}
    with (folder / "errors").open("wb") as errors:
        child = subprocess.Popen(
            command, cwd=environments.ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            output, _ = child.communicate(timeout=_RUN_SECONDS)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)  # Ray ends its processes
            try:
                child.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
            return {"failed": f"not done within {_RUN_SECONDS} s"}
    lines = output.strip().splitlines()
    if child.returncode or not lines:
        told = (folder / "errors").read_text(errors="replace").strip().splitlines()
        return {"failed": told[-1] if told else f"exit status {child.returncode}"}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def planned(most: int) -> list[tuple[int, str, str]]:
    """Round, experiment and contestant of each run, in order.

    What has a target comes first, then the first runs of all others, and then the repeats of what has a target. What a
    target compares with runs right after ours in each round, so that both find the machine in the same state.
    """
    judged = {(target.experiment, contestant) for target in TARGETS for contestant in (OURS, target.over)}
    pairs = [(name, contestant) for name, (_, contestants) in EXPERIMENTS.items() for contestant in contestants]
    first = [pair for pair in pairs if pair in judged]
    runs = [(0, *pair) for pair in [*first, *(pair for pair in pairs if pair not in judged)]]
    return runs + [(number, *pair) for number in range(1, most) for pair in first]


def rounds(place: Path, seconds: float, most: int) -> list[dict[str, Any]]:
    """All runs in the order of their weight; what would not end in time is left out."""
    end = time.monotonic() + seconds
    lasted: dict[tuple[str, str], float] = {}
    records: list[dict[str, Any]] = []
    for number, name, contestant in planned(most):
        if time.monotonic() + lasted.get((name, contestant), 0.0) > end:
            continue
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as folder:
            record = measured(name, contestant, Path(folder))
        os.sync()  # the disk must not be busy with what this run has left when the next one begins
        lasted[name, contestant] = time.monotonic() - begun
        records.append({"experiment": name, "contestant": contestant, "round": number, **record})
        print(json.dumps({key: value for key, value in records[-1].items() if key != "times"}), flush=True)
    return records


def main() -> None:
    """Measure; print, or save the page and the picture."""
    parser = argparse.ArgumentParser(prog="bench.ray")
    parser.add_argument("--seconds", type=float, default=2400, help="No run begins that would not end by then.")
    parser.add_argument("--rounds", type=int, default=3, help="At most.")
    parser.add_argument("--save", type=save_directory, help="The directory for ray.md, ray.json and ray.svg.")
    given = parser.parse_args()
    started = time.monotonic()
    about = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.ray --seconds {given.seconds:g} --rounds {given.rounds}",
        "machine": machine(),
        "versions": {
            "jinx": f"{jinx.__version__} ({_core.build_profile})",
            "ray": version("ray"),
            "Data-Juicer": "1.6.1",
        },
    }
    with tempfile.TemporaryDirectory() as directory:
        records = rounds(Path(directory), given.seconds, given.rounds)
    result = {**about, "load": os.getloadavg()[0], "seconds": round(time.monotonic() - started), "records": records}
    if given.save is not None:
        (given.save / "ray.json").write_text(json.dumps(result) + "\n")
        (given.save / "ray.md").write_text(page(result))
        (given.save / "ray.svg").write_text(picture(result))
    else:
        print(page(result))


if __name__ == "__main__":
    main()
