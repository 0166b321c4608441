"""Rows that follow from a version number, so that what a dataset must hold is known outside of it."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import jinx


def rows(version: int, count: int = 20) -> list[dict[str, Any]]:
    draw = random.Random(version)
    return [
        {
            "id": f"{version}-{index}",
            "version": version,
            "blob": draw.randbytes(draw.randrange(1500)),
            "text": "word " * draw.randrange(60),
            "list": [draw.random() for _ in range(index % 4)],
        }
        for index in range(count)
    ]


def digest(samples: Any) -> str:
    """A hash of everything in the samples."""
    state = hashlib.sha256()
    for sample in samples:
        for name in ("id", "version", "blob", "text", "list"):
            state.update(repr(sample[name]).encode())
        if "emb" in sample:
            state.update(sample["emb"].tobytes())
    return state.hexdigest()


def stored(path: Path) -> str | None:
    """The hash of what is stored, checksums compared; None when there is no dataset."""
    try:
        dataset = jinx.open(path, verify="full")
    except FileNotFoundError:
        return None
    return digest(dataset)


def files_of(path: Path) -> set[str]:
    """The names, relative to the directory around it, that a dataset consists of, when it exists."""
    if path.suffix == ".jinx":
        if not path.exists():
            return set()
        is_alone = b'"sidecar":null' in path.read_bytes()
        return {path.name} if is_alone else {path.name, path.with_suffix(".binx").name}
    if not path.exists():
        return set()
    names = ["jinx.json"]
    for shard in json.loads((path / "jinx.json").read_bytes())["shards"]:
        names.append(shard["name"])
        if shard["sidecar_bytes"]:
            names.append(shard["name"].replace(".jinx", ".binx"))
    return {path.name, *(f"{path.name}/{name}" for name in names)}


def files_in(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}
