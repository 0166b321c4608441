"""The text recipe of seven operators, ours and Data-Juicer's, as whole programs."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from bench import environments
from bench.operators.theirs import OFFLINE
from bench.pipeline.documents import write
from bench.pipeline.program import measured

JACCARD = 0.7
PERMUTATIONS = 256  # what both programs take if not told
RECIPE: list[dict[str, dict[str, Any]]] = [
    {"whitespace_normalization_mapper": {}},
    {"text_length_filter": {"min_len": 50, "max_len": 100_000}},
    {"words_num_filter": {"min_num": 20, "max_num": 100_000}},
    {"alphanumeric_filter": {"min_ratio": 0.6}},
    {"character_repetition_filter": {"rep_len": 10, "max_ratio": 0.5}},
    {"word_repetition_filter": {"rep_len": 10, "max_ratio": 0.5}},
    {"document_minhash_deduplicator": {"jaccard_threshold": JACCARD}},
]


def source(folder: Path, documents: int) -> Path:
    """The documents, made at first need."""
    path = folder / f"documents-{documents}.jsonl"
    if not path.exists():
        temporary = path.with_suffix(".tmp")
        write(temporary, documents)
        temporary.rename(path)
    return path


def ours(data: Path, folder: Path) -> dict[str, Any]:
    """One run of ours; `kept` are the ids of the documents that remain."""
    import jinx

    out = folder / "ours"
    recipe = {"dataset": {"path": str(data)}, "process": RECIPE, "export": {"path": str(out)}, "workers": 2}
    done = _run([sys.executable, "-m", "jinx_pipeline", "run", "--progress", "none"], recipe, folder, {})
    kept: Any = jinx.open(out).column("id")
    return {**done, "kept": [int(number) for number in kept]}


def theirs(data: Path, folder: Path) -> dict[str, Any]:
    """One run of Data-Juicer."""
    python = environments.python_of("datajuicer")
    out = folder / "theirs" / "out.jsonl"
    recipe = {
        "project_name": "bench",
        "dataset_path": str(data),
        "export_path": str(out),
        "np": 2,
        "use_cache": False,
        "process": RECIPE,
    }
    done = _run([str(python.parent / "dj-process"), "--config"], recipe, folder, OFFLINE)
    with out.open(encoding="utf-8") as file:
        return {**done, "kept": [json.loads(line)["id"] for line in file]}


def _run(command: list[str], recipe: dict[str, Any], folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    for name in ("ours", "ours.work", "theirs"):
        shutil.rmtree(folder / name, ignore_errors=True)
    file = folder / "recipe.yaml"
    file.write_text(json.dumps(recipe))  # YAML too
    done = measured([*command, str(file)], os.environ | environment, folder)
    if done.code:
        raise RuntimeError(f"{command[0]} ended with {done.code}: {done.output}")
    return {"wall": done.wall, "cpu": done.cpu, "memory": done.memory}
