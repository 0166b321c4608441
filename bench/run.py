"""Measure every case, our side and the peer's in turns, and print medians. Run it with `make bench`."""

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import datasets

import jinx
from bench.cases import CASES, Case
from bench.data import Files, make

datasets.disable_progress_bars()


def main() -> None:
    """Make the data, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(
        f"jinx {jinx.__version__}, datasets {datasets.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}; {options.samples} samples, median of {options.rounds} alternating rounds, warm files"
    )
    print(f"{'':44}{'jinx':>11}{'datasets':>11}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        files = make(Path(folder), options.samples)
        for case in CASES:
            ours, peer = measure(case, files, options.rounds)
            print(f"{case.name:44}{ours * 1e3:8.1f} ms{peer * 1e3:8.1f} ms{peer / ours:7.1f}x")


def measure(case: Case, files: Files, rounds: int) -> tuple[float, float]:
    """Median seconds of our side and of the peer's, measured in turns after one unmeasured round."""
    ours, peer = [], []
    if case.ours(files) != case.peer(files):
        raise SystemExit(f"bench: the two sides of {case.name!r} give different answers")
    for _ in range(rounds):
        ours.append(_seconds(case.ours, files))
        peer.append(_seconds(case.peer, files))
    return statistics.median(ours), statistics.median(peer)


def _seconds(job: Callable[[Files], object], files: Files) -> float:
    start = time.perf_counter()
    job(files)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
