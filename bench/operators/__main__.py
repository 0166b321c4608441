"""Operators next to Data-Juicer's: results on mixed documents, speed of the operator code, MinHash of many documents.

    python -m bench.operators --save docs/benchmarks

Each side of a round is a process of its own; the sides take turns, and medians of CPU time count.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.environments import ROOT, python_of, versions
from bench.operators import compare, million
from bench.operators.page import page
from bench.operators.recipe_texts import recipe_texts


def timed(side: str, texts: Path, repeats: int) -> dict[str, float]:
    """One round of one side."""
    python = python_of("datajuicer") if side == "theirs" else Path(sys.executable)
    command = [python, "-m", "bench.operators.timed", side, texts, str(repeats)]
    # One core: neither BLAS nor Arrow starts threads.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
    done = subprocess.run(
        ["taskset", "-c", "0", *command],  # noqa: S607 - of util-linux
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def speed(documents: int, rounds: int) -> list[dict[str, Any]]:
    """CPU seconds of each step, alternately."""
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        texts = Path(temporary) / "texts.json"
        texts.write_text(json.dumps(recipe_texts(documents)), encoding="utf-8")
        for number in range(rounds):
            for side in ("theirs", "ours"):
                found = timed(side, texts, 5)
                records += [
                    {"side": side, "round": number, "step": step, "cpu": cpu, "documents": documents}
                    for step, cpu in found.items()
                ]
                print(side, {step: round(cpu, 4) for step, cpu in found.items()}, flush=True)
    return records


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000, help="for the speed of operator code")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compared", type=int, default=1000, help="mixed documents for the comparison of results")
    parser.add_argument("--many", type=int, default=1_000_000, help="documents for MinHash by the engine; 0: none")
    parser.add_argument("--save", type=save_directory, help="directory for operators.json and operators.md")
    options = parser.parse_args()
    started = time.monotonic()
    load = os.getloadavg()[0]
    records = speed(options.documents, options.rounds)
    many = million.measure(options.many) if options.many else None
    outcomes = compare.run(options.compared)
    theirs = versions(python_of("datajuicer"), ("py-data-juicer", "numpy", "datasets"))
    results = {
        "about": {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "command": f"python -m bench.operators --documents {options.documents} --rounds {options.rounds}"
            f" --compared {options.compared} --many {options.many}",
            "machine": machine(),
            "load": load,
            "versions": {**theirs, "jinx-data": version("jinx-data")},
            "seconds": round(time.monotonic() - started),
        },
        "speed": records,
        "many": many,
        "compared": [asdict(outcome) for outcome in outcomes],
    }
    publish("operators", results, page(results), options.save)
    unexplained = sum(len(outcome.unexplained) for outcome in outcomes)
    if unexplained:
        sys.exit(f"{unexplained} differences have no reason")


if __name__ == "__main__":
    main()
