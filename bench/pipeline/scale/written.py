"""Bytes that a real, small run writes for each byte of its output."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jinx
from bench.pipeline.documents import documents
from bench.pipeline.text import RECIPE
from jinx_pipeline.runlog.work_dir import SIGNATURES

# As many blocks go into a shard as blocks of 64 MB go into one of 1 GB.
_BLOCK_ROWS, _BLOCKS_PER_SHARD = 1000, 16
_RECIPES: dict[str, list[dict[str, dict[str, Any]]]] = {
    "filters": RECIPE[:-1],
    "dedup": [*RECIPE[:-1], {"document_deduplicator": {}}],
}


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
    return {"rows": rows, **{name: _run(folder, name, shard_size) for name in _RECIPES}}


def _run(folder: Path, name: str, shard_size: int) -> dict[str, Any]:
    out, work_dir, file = folder / name, folder / f"{name}.work", folder / f"{name}.yaml"
    recipe = {
        "dataset": {"path": str(folder / "in")},
        "process": _RECIPES[name],
        "export": {"path": str(out), "shard_size": shard_size},
        "work_dir": str(work_dir),
        "block_rows": _BLOCK_ROWS,
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
