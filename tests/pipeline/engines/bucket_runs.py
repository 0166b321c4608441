"""Whole runs with everything in a bucket, and nothing on a shared disk."""

import json
import os
import random
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from tests.bucket import Bucket

import jinx
import jinx_pipeline as jp
from pipeline.engines.test_same_bytes import PROCESS

ROOTS = os.pathsep.join(str(Path(package.__file__).parents[1]) for package in (jp, jinx))


def write_input(folder: Path, documents: int) -> None:
    """A directory of several shards, with near duplicates."""
    dice = random.Random(4)
    words = ["".join(dice.choices("abcdefghij", k=dice.randrange(2, 9))) for _ in range(2_000)]
    texts: list[str] = []
    with jinx.Writer(folder / "in", shard_size=60_000) as writer:
        for n in range(documents):
            text = " ".join(dice.choices(words, k=dice.randrange(10, 120)))
            if texts and n % 9 == 0:
                text = dice.choice(texts) + " again"
            texts.append(text)
            writer.write({"id": n, "text": text})


class Place:
    """A machine with a bucket, and recipes whose paths are all in it.

    Args:
        bucket: The bucket, with an input `in`.
        folder: The local directory.
    """

    def __init__(self, bucket: Bucket, folder: Path) -> None:
        self.bucket = bucket
        self.folder = folder
        self.environment = {
            **os.environ,
            **bucket.environment,
            "PYTHONPATH": ROOTS,
            "JINX_SCRATCH": str(folder / "scratch"),
            "JINX_CACHE": str(folder / "cache"),
            "JINX_STORE_PATIENCE": "20",
        }

    def start(
        self, out: str = "out", *words: str, workers: int = 1, code: tuple[str, ...] = (), **recipe
    ) -> subprocess.Popen[bytes]:
        """Start a run, with the arguments of `jinx-pipeline` or of Python code."""
        listed = {
            "dataset": {"path": self.bucket.url("in")},
            "process": PROCESS,
            "export": {"path": self.bucket.url(out)},
        }
        data = {
            **({} if "nodes" in recipe else listed),
            "work_dir": self.bucket.url(f"{out}.work"),
            "block_rows": 100,
            **recipe,
        }
        # The name of a recipe is in its output.
        path = self.folder / "recipes" / out / "recipe.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data))
        return self.command("run", str(path), "--workers", str(workers), "--progress", "none", *words, code=code)

    def command(self, *words: str, code: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        """Start a command of `jinx-pipeline`, or code with its arguments before those of the command."""
        start = ["-c", *code] if code else ["-m", "jinx_pipeline"]
        return subprocess.Popen(
            [sys.executable, *start, *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def run(self, out: str = "out", *words: str, **more) -> None:
        """A run that succeeds."""
        ended(self.start(out, *words, **more))

    def digest(self, out: str = "out") -> dict[str, str]:
        """The name and bytes of each object of an output."""
        folder = self.bucket.directory / out
        return {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}

    def log_objects(self, out: str = "out") -> int:
        """How many objects the log of a run has."""
        work_dir = self.bucket.directory / f"{out}.work"
        return sum(1 for _ in work_dir.glob("runs/*/log.jsonl/*"))


def ended(process: subprocess.Popen[bytes]) -> str:
    """Wait for a run that succeeds; returns its messages."""
    error = process.communicate()[1].decode()
    assert process.returncode == 0, error
    return error


def refused(process: subprocess.Popen[bytes]) -> str:
    """Wait for a run that fails; returns its messages."""
    error = process.communicate()[1].decode()
    assert process.returncode not in {0, -9}, error
    return error
