"""Bytes that a real, small run writes for each byte of its output."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinx
from bench.pipeline.documents import documents
from bench.pipeline.text import RECIPE
from jinx_pipeline.runlog.work_dir import SIGNATURES

# By default a block of 64 MB becomes a shard; here blocks of 20 MB do.
_SHARD_ROWS = 20_000
# With a shard size of 1 GB, as many blocks of 64 MB go into a shard.
_BLOCK_ROWS, _BLOCKS_PER_SHARD = 1000, 16
_DEDUPLICATED: list[dict[str, dict[str, Any]]] = [*RECIPE[:-1], {"document_deduplicator": {}}]


@dataclass(frozen=True, slots=True)
class Case:
    """A run whose written bytes are counted.

    Attributes:
        key: Its name in the results.
        title: What it does.
        process: The operators.
        is_sized: Whether the recipe asks for shards of a size, so that blocks are joined to shards.
        has_target: Whether the bound on written bytes is meant for it.
    """

    key: str
    title: str
    process: list[dict[str, dict[str, Any]]]
    is_sized: bool = False
    has_target: bool = True


CASES = (
    Case("filters", "mapper and filters", RECIPE[:-1]),
    Case("dedup", "the same and exact deduplication", _DEDUPLICATED),
    Case("sized", "mapper and filters, with a `shard_size`", RECIPE[:-1], is_sized=True, has_target=False),
)


def written(folder: Path, rows: int) -> dict[str, Any]:
    """Run recipes over documents, and compare what all processes write with what the output holds.

    Args:
        folder: A new directory.
        rows: How many documents.
    """
    folder.mkdir()
    source = folder / "in"
    with jinx.Writer(source) as writer:
        for number, text in enumerate(documents(rows)):
            writer.write({"id": number, "text": text})
    info = jinx.open(source).info()
    shard_size = _BLOCKS_PER_SHARD * _BLOCK_ROWS * info.bytes // rows
    return {"rows": rows, **{case.key: _run(folder, case, shard_size) for case in CASES}}


def _run(folder: Path, case: Case, shard_size: int) -> dict[str, Any]:
    out, work_dir, file = folder / case.key, folder / f"{case.key}.work", folder / f"{case.key}.yaml"
    recipe = {
        "dataset": {"path": str(folder / "in")},
        "process": case.process,
        "export": {"path": str(out), **({"shard_size": shard_size} if case.is_sized else {})},
        "work_dir": str(work_dir),
        "block_rows": _BLOCK_ROWS if case.is_sized else _SHARD_ROWS,
        "workers": 2,
    }
    file.write_text(json.dumps(recipe), encoding="utf-8")  # YAML too
    before = _written_bytes()
    command = [sys.executable, "-m", "jinx_pipeline", "run", "--progress", "none", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    total = _written_bytes() - before
    files = [path for path in work_dir.rglob("*") if path.is_file()]
    keys = sum(path.stat().st_size for path in files if path.name.endswith(SIGNATURES) or path.suffix == ".npy")
    output = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    shutil.rmtree(out)
    return {"written": total, "keys": keys, "output": output, "ratio": (total - keys) / output}


def _written_bytes() -> int:
    """What this process has written so far, and those that it has waited for."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))
