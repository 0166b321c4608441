"""A training reads two epochs from a bucket, is killed, and resumes at the same sample with other ranks."""

import json
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bucket
import jinx
from fault.bucket_training import BATCH, EPOCHS, SEED

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(300)]
COUNT, IMAGE = 240, 100_000
KILLED_AT = 14


def image(i: int) -> bytes:
    return np.random.default_rng(i).bytes(IMAGE)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bucket.Bucket]:
    (tmp_path / "bucket").mkdir()
    with jinx.Writer(tmp_path / "bucket" / "a.jinx") as writer:
        writer.write_many({"n": i, "image": image(i)} for i in range(COUNT))
    with bucket.served(tmp_path / "bucket") as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        yield store


def train(store: bucket.Bucket, ranks: int, directory: Path, killed_at: int = 0) -> list[dict[str, Any]]:
    """The steps of a run, each with the samples of all ranks."""
    tests = Path(__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": str(tests), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "fault.bucket_training", store.url("a.jinx")]
    running = [
        subprocess.Popen([*command, str(rank), str(ranks), str(directory), str(killed_at)], env=environment)
        for rank in range(ranks)
    ]
    codes = [process.wait(240) for process in running]
    assert codes == [-signal.SIGKILL if killed_at else 0] * ranks
    logs = [
        [json.loads(line) for line in (directory / f"{rank}.jsonl").read_text().splitlines()] for rank in range(ranks)
    ]
    assert len({len(log) for log in logs}) == 1
    return [
        {
            "epoch": parts[0]["epoch"],
            "n": sorted(n for part in parts for n in part["n"]),
            "images": {n: crc for part in parts for n, crc in zip(part["n"], part["images"], strict=True)},
        }
        for parts in zip(*logs, strict=True)
    ]


def test_a_killed_training_resumes_at_the_same_sample_with_other_ranks(store, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    before = train(store, 2, first, killed_at=KILLED_AT)
    assert len(before) == KILLED_AT
    states = [json.loads((first / f"state.{rank}.json").read_text()) for rank in range(2)]
    assert states[0] == states[1]
    second.mkdir()
    (second / "state.json").write_text(json.dumps(states[0]))
    after = train(store, 3, second)
    steps = before + after
    assert all(zlib.crc32(image(n)) == crc for step in steps for n, crc in step["images"].items())
    assert [step["epoch"] for step in steps] == [0] * (COUNT // BATCH) + [1] * (COUNT // BATCH)
    # The same steps as those of one process that is never killed, and reads files of this machine.
    from jinx.torch import ElasticLoader

    local = jinx.open(store.directory / "a.jinx")
    alone = ElasticLoader(local, BATCH, shuffle="blocks", seed=SEED, rank=0, world_size=1, columns=["n"])
    expected = [sorted(int(n) for n in batch["n"]) for _ in range(EPOCHS) for batch in alone]
    assert [step["n"] for step in steps] == expected
    for epoch in range(EPOCHS):
        assert sorted(n for step in steps if step["epoch"] == epoch for n in step["n"]) == list(range(COUNT))
