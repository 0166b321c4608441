"""Runs every fuzz target of the core for its share of a given time: `python tools/fuzz.py SECONDS`.

Builds with AddressSanitizer where the toolchain can, and without it elsewhere. What makes a target fail is kept in
`rust/jinx-fuzz/fuzz/artifacts`; with its fix it goes to `fuzz/regressions`, where every test run meets it again.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "rust" / "jinx-fuzz" / "fuzz"
VERSION = "0.13.2"
# An input may take so much of a core's time and of memory; the targets' own limits are far below.
HANG_SECONDS = 5
# The fuzzer's clock also runs while it waits on a busy machine, so slow inputs are timed once more, alone.
LIMITS = (f"-report_slow_units={HANG_SECONDS}", "-timeout=120", "-malloc_limit_mb=256", "-rss_limit_mb=2048")


@dataclass
class Outcome:
    """How the fuzzing of one target ended."""

    target: str
    code: int
    runs: int
    covered: int
    log: Path


def cargo(*words: str | Path, target: Path) -> int:
    """Runs cargo with its own directory for builds with other flags; returns its exit code."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "RUSTC_BOOTSTRAP": "1"}
    return subprocess.run(["cargo", *words], cwd=ROOT, env=environment, check=False).returncode


def build(target: Path) -> Path:
    """Builds all programs; returns their directory."""
    if subprocess.run(["cargo", "fuzz", "--version"], check=False, capture_output=True).returncode:
        subprocess.run(["cargo", "install", "--locked", "cargo-fuzz", "--version", VERSION], check=True)
    if cargo("fuzz", "build", "--fuzz-dir", FUZZ, target=target):
        print("this toolchain has no AddressSanitizer: continuing without it")
        if cargo("fuzz", "build", "--sanitizer", "none", "--fuzz-dir", FUZZ, target=target):
            sys.exit("the fuzz targets could not be built")
    return next(target.glob("*/release/open_whole_file")).parent


def fuzz(program: Path, corpus: Path, seconds: int) -> Outcome:
    """Fuzzes one target for so long."""
    log = corpus.with_suffix(".log")
    log.unlink(missing_ok=True)
    artifacts = FUZZ / "artifacts" / program.name
    artifacts.mkdir(parents=True, exist_ok=True)
    options = [*LIMITS, "-max_len=16384", "-print_final_stats=1", f"-artifact_prefix={artifacts}/"]
    end = time.monotonic() + seconds
    code = 0
    while code == 0 and (left := int(end - time.monotonic())) > 0:
        with log.open("a") as file:
            words = [program, corpus, f"-max_total_time={left}", *options]
            code = subprocess.run(words, check=False, stdout=file, stderr=subprocess.STDOUT).returncode
        found = list(artifacts.iterdir())
        code = 0 if is_only_starved(program, found) else code or int(bool(found))
    text = log.read_text(errors="replace")
    runs = sum(map(int, re.findall(r"stat::number_of_executed_units: (\d+)", text)))
    covered = re.findall(r" cov: (\d+)", text)
    return Outcome(program.name, code, runs, int(covered[-1]) if covered else 0, log)


def is_only_starved(program: Path, found: list[Path]) -> bool:
    """Whether what was found are inputs that were slow on a busy machine and take little of a core's time."""
    for path in found:
        if not path.name.startswith(("timeout-", "slow-unit-")) or is_slow(program, path):
            return False
    for path in found:
        path.unlink()
    return bool(found)


def is_slow(program: Path, path: Path) -> bool:
    """Whether an input fails, or takes longer than it may, however long it has to wait for a core."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (HANG_SECONDS, HANG_SECONDS))

    return bool(subprocess.run([program, path], check=False, capture_output=True, preexec_fn=limit).returncode)


def main() -> None:
    """Builds, seeds, runs and reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=int, help="for all targets together, on one core")
    parser.add_argument("--only", nargs="*", help="these targets; all if none is named")
    parser.add_argument("--jobs", type=int, default=2, help="targets that run at the same time")
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "jinx" / "fuzz")
    arguments = parser.parse_args()
    targets = arguments.only or sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))
    programs = build(arguments.work)
    corpora = arguments.work / "corpora"
    seeds = ["run", "--quiet", "--locked", "--package", "jinx-fuzz", "--example", "fuzz_seeds", corpora]
    if subprocess.run(["cargo", *seeds], cwd=ROOT, check=False).returncode:
        sys.exit("the first inputs could not be made")
    share = max(1, arguments.seconds // len(targets))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = list(pool.map(lambda name: fuzz(programs / name, corpora / name, share), targets))
    for outcome in outcomes:
        end = (
            "nothing found"
            if outcome.code == 0
            else f"FOUND SOMETHING: see {outcome.log} and {FUZZ / 'artifacts' / outcome.target}"
        )
        print(f"{outcome.target:20} {outcome.runs:12,} runs of {share} s, {outcome.covered:6,} edges: {end}")
    print(f"{sum(outcome.runs for outcome in outcomes):,} runs in all")
    if any(outcome.code for outcome in outcomes):
        sys.exit(1)


if __name__ == "__main__":
    main()
