"""Inputs: what is opened as it is, what is converted first, and how a changed input is told from a grown one."""

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinx
from jinx.errors import UnsupportedError
from jinx_pipeline.recipe.model import SourceSpec


@dataclass(frozen=True)
class Input:
    """A dataset to read.

    Attributes:
        path: Where it is, absolute.
        identity: What it is: number of samples, ids of shards, or size and digest of plain JSON lines.
        rows: Its samples.
        bytes: Of all its files.
        converted_from: The source that was converted to it; None: it is read where it lies.
    """

    path: str
    identity: dict[str, Any]
    rows: int
    bytes: int
    converted_from: str | None = None


def find_input(source: SourceSpec, inputs_dir: Path, *, convert: bool = True) -> Input:
    """Open a source, converting it first if it has no block identity.

    Args:
        source: The source.
        inputs_dir: Where converted inputs are kept, by fingerprint.
        convert: Whether to convert; False raises instead.

    Raises:
        FileNotFoundError: There is no such file; the message names the nearest one.
        JinxError: It cannot be read.
    """
    try:
        return _described(source.path)
    except UnsupportedError:
        if not convert:
            raise
    fingerprint = _fingerprint(source.path)
    target = inputs_dir / fingerprint
    if not (target / "jinx.json").exists():
        inputs_dir.mkdir(parents=True, exist_ok=True)
        jinx.convert(source.path, target, overwrite=True)
    made = _described(str(target))
    return Input(made.path, {**made.identity, "source": fingerprint}, made.rows, made.bytes, source.path)


def needs_conversion(path: str) -> bool:
    """Whether a source is converted before it is read."""
    try:
        jinx.open(path)
    except UnsupportedError:
        return True
    return False


def _described(path: str) -> Input:
    dataset = jinx.open(path)
    info = dataset.info()
    identity: dict[str, Any] = {"format": info.format, "samples": len(dataset), "ids": info.ids}
    if info.format == "jsonl":
        size = Path(path).stat().st_size
        identity |= {"bytes": size, "sha256": head_digest(path, size)}
    where = path if any(one in path for one in "*?[") else str(Path(path).absolute())
    return Input(where, identity, len(dataset), info.bytes + info.sidecar_bytes)


def has_grown(old: dict[str, Any], new: dict[str, Any], path: str) -> bool:
    """Whether an input only has more samples at its end than before."""
    if old["format"] != new["format"] or new["samples"] <= old["samples"] or old.get("source") != new.get("source"):
        return False
    if old["format"] == "jsonl":
        return head_digest(path, old["bytes"]) == old["sha256"]
    ids = old["ids"]
    return None not in ids and len(new["ids"]) > len(ids) and new["ids"][: len(ids)] == ids


def head_digest(path: str, size: int) -> str:
    """The SHA-256 of the first bytes of a file."""
    digest = sha256()
    with Path(path).open("rb") as file:
        while size > 0 and (data := file.read(min(size, 1 << 20))):
            digest.update(data)
            size -= len(data)
    return digest.hexdigest()


def _fingerprint(path: str) -> str:
    """Of a source that has no identity of its own: names, sizes and times of its files, or the URL."""
    from glob import glob

    if "://" in path:
        return sha256(path.encode()).hexdigest()[:16]
    found = Path(path)
    if found.is_dir():
        files = sorted(file for file in found.rglob("*") if file.is_file())
    else:
        files = sorted(map(Path, glob(path, recursive=True))) or [found]  # noqa: PTH207 - the pattern is a string
    facts = [(os.path.abspath(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]  # noqa: PTH100
    return sha256(repr(facts).encode()).hexdigest()[:16]


