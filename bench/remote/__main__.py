"""Data in an object store: `make bench-remote` writes the page and its data.

    python -m bench.remote --save docs/benchmarks
    python -m bench.remote --samples 2000 --rounds 1

The store is a process of this machine that answers as slowly as a real one. Every measurement is a process of its own,
and the contestants take turns. litdata and Streaming run in environments of their own, which are made at first need.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

import jinx
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.environments import InstallError, python_of
from bench.remote.contestants import AGAIN, FIRST, HALF, IN_ORDER, OPEN, SHUFFLED
from bench.remote.page import EIGHT, page
from jinx import _core

_REPOSITORY = Path(__file__).resolve().parents[2]
_ENVIRONMENTS = {"litdata": "litdata", "streaming": "streaming"}
_OPENS = 5
_PROCESSES = 8
_CASES = {
    IN_ORDER: ("raw", "jinx", "litdata", "streaming", "fsspec+pyarrow"),
    SHUFFLED: ("raw", "jinx", "litdata", "streaming"),
    # After the one before, with its cache.
    AGAIN: ("jinx", "local"),
    HALF: ("jinx",),
    OPEN: ("jinx",) * _OPENS,
    FIRST: ("jinx",) * _OPENS,
}


class Bench:
    """A run: where the data are, and who takes part.

    Args:
        directory: For the data and the caches.
        samples: How many.
        names: The contestants.
    """

    def __init__(self, directory: Path, samples: int, names: set[str]) -> None:
        self.directory, self.samples = directory, samples
        self.data = directory / "data"
        self.data.mkdir()
        self.pythons: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.port = 0
        for name in sorted(names):
            try:
                self.pythons[name] = str(python_of(_ENVIRONMENTS.get(name, "")))
                if name not in {"raw", "local"}:
                    self._in_process(name, "bench.remote.data", name, str(self.data), str(samples))
            except (InstallError, subprocess.CalledProcessError) as error:
                self.failed[name] = _last_words(getattr(error, "stderr", None) or str(error))
                print(f"{name}: {self.failed[name]}", file=sys.stderr, flush=True)

    def _in_process(self, name: str, module: str, *arguments: str) -> str:
        environment = {
            # Where this is set, each process would compile what it imports.
            **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONPATH": os.pathsep.join([str(_REPOSITORY / "python"), str(_REPOSITORY)]),
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "S3_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "NO_PROXY": "127.0.0.1",
        }
        command = [self.pythons[name], "-W", "ignore", "-m", module, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=1800)
        return done.stdout

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """The store, as long as the block runs."""
        command = [sys.executable, "-m", "bench.remote.store", str(self.data)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as store:
            output, end = cast("IO[str]", store.stdout), cast("IO[str]", store.stdin)
            self.port = int(output.readline())
            try:
                yield
            finally:
                end.close()

    def counts(self) -> dict[str, int]:
        """Requests and bytes since the last call."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/counts") as answer:  # our own store
            return json.load(answer)

    def measured(self, case: str, name: str, cache: Path) -> dict[str, Any]:
        """One contestant in one case."""
        self.counts()
        found = self._in_process(
            name, "bench.remote.contestants", case, name, str(self.data), str(self.port), str(cache)
        )
        sent = {f"sent_{what}": number for what, number in self.counts().items()}
        return {"case": case, "contestant": name, **json.loads(found.splitlines()[-1]), **sent}

    def round(self, number: int) -> Iterator[dict[str, Any]]:
        """Every case by every contestant."""
        caches = self.directory / f"caches-{number}"
        for case, names in _CASES.items():
            taking_part = [name for name in names if name in self.pythons and name not in self.failed]
            # The first of a round gains or loses by what ran before it.
            turn = number % max(1, len(taking_part))
            for name in taking_part[turn:] + taking_part[:turn]:
                cache = caches / f"{name}-{'shuffled' if case in {SHUFFLED, AGAIN} else case}"
                if case in {OPEN, FIRST}:
                    shutil.rmtree(cache, ignore_errors=True)
                try:
                    yield {**self.measured(case, name, cache), "round": number}
                except subprocess.CalledProcessError as error:
                    if name == "jinx":
                        raise RuntimeError(error.stderr) from error
                    self.failed[name] = _last_words(error.stderr)
        yield {**self._processes(caches / EIGHT), "round": number}
        shutil.rmtree(caches, ignore_errors=True)

    def _processes(self, cache: Path) -> dict[str, Any]:
        """Eight processes that read everything through one cache."""
        self.counts()
        arguments = ("bench.remote.contestants", IN_ORDER, "jinx", str(self.data), str(self.port), str(cache))
        started = time.perf_counter()
        with ThreadPoolExecutor(_PROCESSES) as pool:
            found = [
                json.loads(text) for text in pool.map(lambda _: self._in_process("jinx", *arguments), range(_PROCESSES))
            ]
        wall = time.perf_counter() - started
        totals = {what: sum(of_process[what] for of_process in found) for what in ("cpu", "bytes")}
        sent = {f"sent_{what}": number for what, number in self.counts().items()}
        return {"case": EIGHT, "contestant": "jinx", "wall": wall, **totals, **sent}


def _last_words(text: str) -> str:
    """The last line of an error that has words; a library may print a dict over several lines."""
    return next((line.strip() for line in reversed(text.splitlines()) if any(map(str.isalpha, line))), "it failed")


def main() -> None:
    """Measure; print, or save the page."""
    everyone = sorted({name for names in _CASES.values() for name in names})
    parser = argparse.ArgumentParser(prog="bench.remote")
    parser.add_argument("--samples", type=int, default=13_640, help="Samples of 48 kB.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--contestants", default=",".join(everyone), help="Those that take part.")
    parser.add_argument("--directory", type=Path, help="Where to write; a temporary directory if not given.")
    parser.add_argument("--save", type=save_directory, help="The directory for remote.md and remote.json.")
    given = parser.parse_args()
    started = time.monotonic()
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        bench = Bench(Path(directory), given.samples, {*given.contestants.split(","), "raw", "jinx", "local"})
        size = sum((bench.data / name).stat().st_size for name in ("media.jinx", "media.binx"))
        with bench.served():
            for number in range(given.rounds):
                for record in bench.round(number):
                    records.append(record)
                    print(json.dumps(record), flush=True)
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.remote --samples {given.samples} --rounds {given.rounds}",
        "machine": machine(),
        "load": os.getloadavg()[0],
        "versions": {"jinx": f"{jinx.__version__} ({_core.build_profile})"},
        "seconds": round(time.monotonic() - started),
        "samples": given.samples,
        "bytes": size,
        "failed": bench.failed,
        "records": records,
    }
    publish("remote", result, page(result), given.save)


if __name__ == "__main__":
    main()
