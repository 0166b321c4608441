"""MDS readers compared: mosaicml-streaming's, MLDataForge's and ours.

Runs in the environment of `make test-streaming`:

    PYTHONPATH=python .venv-streaming/bin/python -m bench.mds --save docs/benchmarks

Every measurement is a process of its own; the readers take turns, and medians count.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.mds.cases import measure, pieces, plan
from bench.mds.data import make
from bench.mds.page import page
from bench.memory import measure as watch

_PACKAGES = ("mosaicml-streaming", "mldataforge", "torch", "zstandard", "numpy")


def child(arguments: list[str]) -> dict[str, float]:
    """One measurement in a fresh process, which is looked at from here for its memory."""
    # Numpy's second thread spins for a moment after its start, which counts as CPU time of whoever imports it.
    os.environ |= {"BENCH_CHILD": "1", "OPENBLAS_NUM_THREADS": "1"}
    peak = watch([sys.executable, "-W", "ignore", "-m", "bench.mds", *arguments])
    found: dict[str, float] = json.loads(peak.output.splitlines()[-1])
    if "before" in found:
        found["memory"] = max(peak.private - found.pop("before"), 0)
    return found


def run(directory: Path, limit: int, rounds: int, shards: list[str]) -> list[dict[str, Any]]:
    """Every case over these shards (all if none are named) by every reader, alternately."""
    records: list[dict[str, Any]] = []
    for form, case, readers in plan():
        if shards and form not in shards:
            continue
        for number in range(rounds):
            for reader in readers:
                record = {"shards": form, "case": case, "reader": reader, "round": number}
                line = f"{form:12} {case:28} {reader:14}"
                try:
                    found = child([case, reader, form, str(directory), str(limit)])
                except RuntimeError as error:
                    if reader.startswith("jinx"):
                        raise
                    # The error's last line, without the paths of this machine.
                    reason = str(error).splitlines()[-1].partition(": '")[0]
                    records.append({**record, "failed": reason})
                    print(line, reason, flush=True)
                    continue
                records.append({**record, **found})
                line += f" {found['cpu'] * 1e6:10.1f} us CPU"
                print(f"{line} {found['wall'] * 1e6:10.1f} us wall {found['memory'] / 1e6:6.1f} MB", flush=True)
    return records


def about(options: argparse.Namespace, started: float) -> dict[str, Any]:
    """What has to be known of a run."""
    shards = f" --shards {' '.join(options.shards)}" if options.shards else ""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.mds --samples {options.samples} --limit {options.limit} --rounds {options.rounds}"
        + shards,
        "machine": machine(),
        "load": os.getloadavg()[0],
        "versions": {name: version(name) for name in _PACKAGES},
        "seconds": round(time.monotonic() - started),
        "note": options.note,
    }


def joined(old: dict[str, Any], new: dict[str, Any], shards: list[str]) -> dict[str, Any]:
    """A whole run whose figures of some shards were measured once more."""
    again = new["about"]
    note = f"Again: `{again['command']}`, {again['time']}, commit `{again['commit']}`."
    old["about"]["note"] = f"{old['about']['note']} {note}".strip()
    old["records"] = [record for record in old["records"] if record["shards"] not in shards] + new["records"]
    return old


def main() -> None:
    """Command line."""
    if os.environ.get("BENCH_CHILD"):
        case, reader, form, directory, limit = sys.argv[1:]
        at = Path(directory)
        print(json.dumps(pieces(at) if case == "pieces" else measure(case, reader, form, at, int(limit))))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--limit", type=int, default=4000, help="samples of a random case")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="where the shards are kept and found again")
    parser.add_argument("--save", type=save_directory, help="directory that mds.json and mds.md are written to")
    parser.add_argument("--shards", nargs="+", default=[], help="only these, in place of older figures in --save")
    parser.add_argument("--note", default="", help="a sentence for the page")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        directory = options.directory or Path(temporary)
        if not (directory / "many" / "index.json").exists():
            make(directory, options.samples)
        records = run(directory, options.limit, options.rounds, options.shards)
        parts = child(["pieces", "", "", str(directory), "0"])
    results = {"about": about(options, started), "records": records, "pieces": parts}
    if options.save and options.shards:
        results = joined(json.loads((options.save / "mds.json").read_text()), results, options.shards)
    publish("mds", results, page(results), options.save)


if __name__ == "__main__":
    main()
