"""The measurements."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.pipeline.program import children_of, private_bytes
from bench.views.rounds import Record, alternate
from jinx_pipeline.worker.periodic_call import calling_every

CLIPS, LARGE, PACK, DIAMOND = "clips of videos", "clips of a large video", "packing of clips", "seven operators"
ALONE = "decoding and encoding alone"
TABLES = {"SQLite": "rows into SQLite", "PostgreSQL": "rows into PostgreSQL"}
_SECONDS = 7200
_OUTPUTS = ("out", "out.work", "out.jinx", "out.jinx.work")
_SQLITE = ("meta.db", "meta.db-wal", "meta.db-shm")
_UPSERT = """\
nodes:
  rows: {source: rows.jinx}
  listed:
    sink: {database: "%s", table: clips, key: n, columns: {n: int, file: str, seconds: float, motion: float}}
  none: {operators: [text_length_filter: {min_len: 1000}]}
  out: {sink: out.jinx}
dataset: {text: file}
flows:
  - {from: rows, to: listed}
  - {from: listed, to: none}
  - {from: none, to: out}
"""
_CHAIN = """\
dataset: texts.jinx
process:
  - clean_links_mapper
  - words_num_filter: {{min_num: 10}}
  - text_length_filter: {{min_len: 10}}
  - specified_numeric_field_filter: {{field_key: n, min_value: 0}}
  - alphanumeric_filter: {{min_ratio: 0.1}}
  - specified_numeric_field_filter: {{field_key: n, max_value: {rows}}}
  - whitespace_normalization_mapper
export: out
reorder: false
workers: 1
"""
# The same operators on as many rows: each branch drops half of them at its end.
_DIAMOND = """\
nodes:
  texts: {{source: texts.jinx}}
  clean: {{operators: [clean_links_mapper]}}
  left:
    operators:
      - words_num_filter: {{min_num: 10}}
      - text_length_filter: {{min_len: 10}}
      - specified_numeric_field_filter: {{field_key: n, min_value: {half}}}
  right:
    operators:
      - alphanumeric_filter: {{min_ratio: 0.1}}
      - specified_numeric_field_filter: {{field_key: n, max_value: {below}}}
  last: {{operators: [whitespace_normalization_mapper]}}
  out: {{sink: out}}
flows:
  - {{from: texts, to: clean}}
  - {{from: clean, to: [left, right]}}
  - {{from: [left, right], to: last}}
  - {{from: last, to: out}}
reorder: false
workers: 1
"""


def clips(folder: Path, count: int, rounds: int) -> list[Record]:
    """Ours, a process for each core, Ray Data, and decoding and encoding alone."""
    workers = os.cpu_count() or 1
    steps = {
        ALONE: lambda: _limit(folder, workers),
        "jinx": lambda: _ours(folder, workers),
        "one task per video": lambda: _program("naive", folder, workers),
        "Ray Data": lambda: _program("ray", folder, workers),
    }
    try:
        return alternate(CLIPS, steps, count=count, rounds=rounds)
    finally:
        _clean(folder)


def large(folder: Path) -> list[Record]:
    """The memory of the workers while one of them cuts a large video."""
    try:
        return alternate(LARGE, {"jinx": lambda: _ours(folder, os.cpu_count() or 1)}, count=5, rounds=1)
    finally:
        _clean(folder)


def packing(folder: Path, rounds: int) -> list[Record]:
    """Clips from the page cache into a directory."""
    files = [path for path in (folder / "clips").rglob("*") if path.is_file()]
    size = sum(len(path.read_bytes()) for path in files)  # which brings them into the page cache

    def pack() -> Record:
        _remove(folder, "packed", "packed.work")
        result = _pipeline(folder, "run", "video-pack", "--out", "packed", "--set", "where=1 = 1")
        return {"bytes": size, "operators": sum(totals["seconds"] for totals in result["operators"])}

    try:
        return alternate(PACK, {"jinx": pack}, count=len(files), rounds=rounds)
    finally:
        _remove(folder, "packed", "packed.work")


def tables(folder: Path, rows: int, rounds: int) -> list[Record]:
    """Rows of a dataset, upserted by key."""
    import pgserver

    (folder / "sqlite.yaml").write_text(_UPSERT % "meta.db")
    (folder / "postgresql.yaml").write_text(_UPSERT % "env:BENCH_GRAPH_DB")

    def sqlite() -> None:
        _remove(folder, *_SQLITE)
        _clean_run(folder, "sqlite.yaml")

    # As root, the server runs as another user, who may not enter a directory that only root may.
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        server = pgserver.get_server(Path(place) / "postgresql", cleanup_mode="stop")
        os.environ["BENCH_GRAPH_DB"] = server.get_uri()

        def postgresql() -> None:
            server.psql("DROP TABLE IF EXISTS clips;")
            _clean_run(folder, "postgresql.yaml")

        try:
            records = alternate(TABLES["SQLite"], {"jinx": sqlite}, count=rows, rounds=rounds)
            return records + alternate(TABLES["PostgreSQL"], {"jinx": postgresql}, count=rows, rounds=rounds)
        finally:
            server.cleanup()
            _remove(folder, *_SQLITE, *_OUTPUTS)


def diamond(folder: Path, rows: int, rounds: int) -> list[Record]:
    """Seven operators in a row, and in two branches that come together."""
    for name, recipe in (("chain", _CHAIN), ("diamond", _DIAMOND)):
        (folder / f"{name}.yaml").write_text(recipe.format(rows=rows, half=rows // 2, below=rows // 2 - 1))
    steps = {name: lambda name=name: _clean_run(folder, f"{name}.yaml") for name in ("chain", "diamond")}
    try:
        return alternate(DIAMOND, steps, count=rows, rounds=rounds)
    finally:
        _remove(folder, *_OUTPUTS)


def _ours(folder: Path, workers: int) -> Record:
    """The recipe; returns the most private memory that one of its workers had."""
    _clean(folder)
    words = ("run", "video-clips", "--in", "videos.jinx", "--out", "out.jinx", "--workers", str(workers))
    program = [sys.executable, "-m", "jinx_pipeline", *words, "--json"]
    peak = 0
    with subprocess.Popen(program, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:

        def look() -> None:
            nonlocal peak
            peak = max([peak, *map(private_bytes, children_of(process.pid))])

        with calling_every(look, 0.1):
            error = process.communicate(timeout=_SECONDS)[1]
    if process.returncode:
        raise RuntimeError(error[-2000:])
    return {"memory": peak}


def _limit(folder: Path, workers: int) -> Record:
    """The CPU time of decoding and encoding, in as many processes as cores, divided by these."""
    done = _run([sys.executable, "-m", "bench.graph.programs", "limit", str(folder), str(workers)])
    seconds = json.loads(done.splitlines()[-1])
    return {"wall": sum(seconds.values()) / workers, "cpu": sum(seconds.values()), **seconds}


def _program(kind: str, folder: Path, workers: int) -> None:
    _clean(folder)
    _run([sys.executable, "-m", "bench.graph.programs", kind, str(folder), str(workers)])


def _clean(folder: Path) -> None:
    _remove(folder, "clips", "out.jinx.work", "out.jinx", "clips.db", "clips.db-wal", "clips.db-shm", "other.db")


def _clean_run(folder: Path, recipe: str) -> None:
    _remove(folder, *_OUTPUTS)
    _pipeline(folder, "run", recipe)


def _remove(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _pipeline(folder: Path, *words: str) -> Mapping[str, Any]:
    return json.loads(_run([sys.executable, "-m", "jinx_pipeline", *words, "--json"], folder))


def _run(words: list[str], folder: Path | None = None) -> str:
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout
