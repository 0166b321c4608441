"""Whole runs on a disk and in a bucket of this machine, and the requests that they make."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from tests.bucket import Bucket, served

import jinx
from bench.pipeline.documents import documents
from bench.pipeline.text import RECIPE

# As measured between a machine in a cloud and the store beside it.
FIRST_BYTE_SECONDS = 0.020
WORKERS = 4
# A store has cores of its own: runs, also those on a disk, have the first half, and the server has the others.
_CORES = sorted(os.sched_getaffinity(0))
RUN_CORES, STORE_CORES = _CORES[: max(1, len(_CORES) // 2)], _CORES[len(_CORES) // 2 :]
# Blocks of 2.3 MB; those of large runs have 64 MB.
BLOCK_ROWS = 2000
RECIPES: dict[str, list[dict[str, dict[str, Any]]]] = {"mapper and filters": RECIPE[:-1], "with MinHash": RECIPE}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run has its input, working directory and output.

    Attributes:
        folder: A directory of this machine.
        bucket: The bucket; None: all is in the directory.
    """

    folder: Path
    bucket: Bucket | None = None

    def path(self, name: str) -> str:
        """The path or URL of a name."""
        return str(self.folder / name) if self.bucket is None else self.bucket.url(name)

    def file(self, name: str) -> Path:
        """The file or directory that has the bytes of a name."""
        return (self.folder if self.bucket is None else self.bucket.directory) / name

    @property
    def environment(self) -> dict[str, str]:
        """Variables for the processes of a run."""
        if self.bucket is None:
            return dict(os.environ)
        places = {"JINX_SCRATCH": str(self.folder / "scratch"), "JINX_CACHE": str(self.folder / "cache")}
        return {**os.environ, **self.bucket.environment, **places}

    def start(self, source: str, process: list[dict[str, dict[str, Any]]]) -> "subprocess.Popen[bytes]":
        """Start a run, or resume one."""
        recipe = {
            "dataset": {"path": self.path(source)},
            "process": process,
            "export": {"path": self.path("out")},
            "work_dir": self.path("work"),
            "workers": WORKERS,
            "block_rows": BLOCK_ROWS,
        }
        file = self.folder / "recipe.yaml"
        file.write_text(json.dumps(recipe), encoding="utf-8")  # YAML too
        command = [sys.executable, "-m", "jinx_pipeline", "run", "--progress", "none", str(file)]
        command = ["taskset", "--cpu-list", ",".join(map(str, RUN_CORES)), *command]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder
        )

    def clear(self) -> None:
        """Remove the output and the state of the last run, and what was read from the bucket."""
        for name in ("out", "work"):
            shutil.rmtree(self.file(name), ignore_errors=True)
        for name in ("scratch", "cache"):
            shutil.rmtree(self.folder / name, ignore_errors=True)


@contextmanager
def bucket_place(folder: Path) -> Generator[Place]:
    """A place in a bucket whose server is part of this process."""
    (folder / "bucket").mkdir(parents=True)
    os.sched_setaffinity(0, STORE_CORES)
    try:
        with served(folder / "bucket") as bucket:
            bucket.delay = FIRST_BYTE_SECONDS
            yield Place(folder, bucket)
    finally:
        os.sched_setaffinity(0, _CORES)


def write_input(folder: Path, rows: int) -> None:
    """A directory of shards of about the size of a block."""
    texts = list(documents(rows))
    block_bytes = sum(map(len, texts)) * BLOCK_ROWS // rows
    with jinx.Writer(folder, shard_size=block_bytes) as writer:
        for number, text in enumerate(texts):
            writer.write({"id": number, "text": text})


def run(place: Place, source: str, process: list[dict[str, dict[str, Any]]]) -> float:
    """One run from nothing; returns its wall time in seconds."""
    place.clear()
    if place.bucket is not None:
        place.bucket.forget()
    started = time.perf_counter()
    ended(place.start(source, process))
    return time.perf_counter() - started


def ended(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a run that must succeed."""
    message = process.communicate()[1].decode()
    if process.returncode:
        raise RuntimeError(f"a run failed: {message}")


def blocks_of(place: Place) -> int:
    """The blocks of the last run's input."""
    log = next(place.file("work").glob("runs/*/log.jsonl"))
    first = min(log.iterdir()) if log.is_dir() else log
    with first.open("rb") as file:
        return len(json.loads(file.readline())["plan"]["blocks"])


def kinds_of(bucket: Bucket) -> dict[str, int]:
    """The requests since the last `forget`, by kind: a list is one that names no object."""
    kinds: Counter[str] = Counter()
    for request in bucket.requests:
        kinds["LIST" if request.method == "GET" and not request.key else request.method] += 1
    return dict(kinds)


def resumed(place: Place, source: str, process: list[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Kill the driver of a run when half of its blocks are committed, resume it, and count what it opens again.

    Raises:
        RuntimeError: The run ended before it could be killed.
    """
    bucket = place.bucket
    if bucket is None:
        raise ValueError("requests are counted in a bucket")
    place.clear()
    first = place.start(source, process)
    half = -(-sum(shard["samples"] for shard in shards_of(place, source)) // BLOCK_ROWS // 2)
    while first.poll() is None and len(committed(place)) < half:
        time.sleep(0.02)
    first.kill()
    first.communicate()
    blocks, done = blocks_of(place), committed(place)
    if not 0 < len(done) < blocks:
        raise RuntimeError(
            f"{len(done)} of {blocks} blocks were committed when the driver was killed; measure more rows"
        )
    shutil.rmtree(place.folder / "cache", ignore_errors=True)
    bucket.forget()
    ended(place.start(source, process))
    read = {request.key for request in bucket.requests}
    finished = finished_shards(shards_of(place, source), done)
    opened = [name for name in finished if f"{source}/{name}" in read]
    return {"blocks": blocks, "committed": len(done), "finished": len(finished), "opened": len(opened)}


def shards_of(place: Place, source: str) -> list[dict[str, Any]]:
    """The shards of an input, as its manifest lists them."""
    return json.loads((place.file(source) / "jinx.json").read_bytes())["shards"]


def finished_shards(shards: list[dict[str, Any]], done: set[int]) -> list[str]:
    """The names of the shards all of whose samples are in blocks that are committed."""
    ends = list(accumulate(shard["samples"] for shard in shards))
    blocks = [range(first // BLOCK_ROWS, -(-end // BLOCK_ROWS)) for first, end in pairwise([0, *ends])]
    return [shard["name"] for shard, needed in zip(shards, blocks, strict=True) if done.issuperset(needed)]


def committed(place: Place) -> set[int]:
    """The committed blocks of the run in a bucket."""
    objects = [file for file in place.file("work").glob("runs/*/log.jsonl/*") if not file.name.startswith(".")]
    records = (json.loads(line) for file in objects for line in file.read_bytes().splitlines())
    return {record["block"] for record in records if record["kind"] == "committed"}
