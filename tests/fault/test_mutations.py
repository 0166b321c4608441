"""Damaged files of every variant, at random: an error of ours or values, never a crash, a hang or another exception."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jinx
from fault import flipping
from fault.mutating import FULL_LENGTH
from samples import sample

SEED = 1


def write_variants(directory: Path, vectors: Path, rows: int = 12) -> None:
    """One directory for each dataset: what we write in every variant, and the specification's vectors."""
    few = [sample(index) for index in range(rows)]
    variants = {
        "usual": {},
        "inline": {"sidecar": False},
        "stored": {"compression": None},
        "indexed": {"indexed": ["id", "meta.source", "meta.width"]},
        "described": {"meta": {"a": [1]}, "split": "train", "media": {"image": "Image"}},
    }
    for name, options in variants.items():
        (directory / name).mkdir(parents=True)
        with jinx.Writer(directory / name / "a.jinx", **options) as writer:
            writer.write_many(few)
    with jinx.Writer(directory / "shards", shard_size=2000) as writer:
        writer.write_many(few)
    (directory / "many").mkdir()
    with jinx.Writer(directory / "many" / "a.jinx") as writer:
        writer.write_many({"n": index, "t": np.int8(index % 3)} for index in range(9000))
    write_views(directory, few)
    for main in [*vectors.glob("1_0/*.jinx"), *vectors.glob("1_1/*.jinx")]:
        files = [main, main.with_suffix(".binx")]
        if sum(file.stat().st_size for file in files if file.exists()) < FULL_LENGTH:
            place = directory / f"{main.parent.name}-{main.stem}"
            place.mkdir()
            for file in files:
                if file.exists():
                    shutil.copy(file, place)


def write_views(directory: Path, few: list[dict]) -> None:
    """Views of every kind; copies of them find their bases by the absolute path."""
    bases = directory.parent / "bases"
    if not bases.exists():
        bases.mkdir()
        with jinx.Writer(bases / "a.jinx") as writer:
            writer.write_many(few)
        with jinx.Writer(bases / "shards", shard_size=2000) as writer:
            writer.write_many(few)
        jinx.convert(few, bases / "a.jsonl")
    pair, shards, lines = (jinx.open(bases / name) for name in ("a.jinx", "shards", "a.jsonl"))
    own = {"n": list(range(len(few))), "blob": [bytes(100 + i) for i in range(len(few))]}
    views = {
        "rowless": pair[::-1],
        "own": shards.shuffle(seed=1).with_columns(own),
        "lines": lines[::-1].with_columns(own).drop_columns("flag"),
        "several": jinx.concat([lines, pair, shards]),
    }
    for name, view in views.items():
        (directory / f"view-{name}").mkdir()
        view.save(directory / f"view-{name}" / "a.jinx")


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_mutated_files_give_values_or_our_errors(directory, vectors, soak, child_environment):
    write_variants(directory / "sources", vectors)
    many = jinx.open(directory / "sources" / "many" / "a.jinx")
    (directory / "sources" / "view-many").mkdir()
    many[::-1].save(directory / "sources" / "view-many" / "a.jinx")
    total, processes = (1_000_000, 2) if soak else (20_000, 2)
    share = total // processes
    running = []
    for start in range(0, total, share):
        command = [sys.executable, "-m", "fault.mutating", directory, SEED, start, start + share]
        words = [str(word) for word in command]
        running.append((start, subprocess.Popen(words, env=child_environment, stdout=subprocess.PIPE, text=True)))
    wrong = []
    for start, process in running:
        said, _ = process.communicate()
        wrong += said.splitlines()
        if process.returncode not in {0, 1}:
            at = int.from_bytes((directory / f"at{start}").read_bytes(), "little")
            wrong.append(f"case {at}: the process ended with {process.returncode} (-14: it hung)")
    assert wrong == [], f"do it again with: python -m fault.mutating DIRECTORY {SEED} N N+1"


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_small_changes_give_values_or_our_errors(directory, vectors, soak, child_environment, record_property):
    write_variants(directory / "sources", vectors, rows=2)
    shutil.copytree(directory / "sources", directory / "other")
    shutil.copytree(directory / "sources", directory / "here")
    blocks, here = (10_000, 0) if soak else (250, 10)
    share = (blocks - here) // 2
    running = []
    for place, start in (("sources", here), ("other", here + share)):
        command = [sys.executable, "-m", "fault.flipping", directory / place, SEED, start, start + share]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen([str(word) for word in command], env=child_environment, stdout=pipe, text=True))
    results = [flipping.main(directory / "here", SEED, 0, here)]
    for process in running:
        said, _ = process.communicate()
        assert process.returncode == 0, f"{process.args} ended with {process.returncode} (-14: it hung)"
        results.append(json.loads(said))
    record_property("outcomes", [dict(result["outcomes"]) for result in results])
    assert [text for result in results for text in result["wrong"]] == []
    assert sum(result["cases"] for result in results) == blocks * flipping.BLOCK >= 250_000
    # Changes that no checksum covers are read as other values; most are found.
    assert all(0 < result["outcomes"]["a row"] < result["cases"] / 2 for result in results if result["cases"])
