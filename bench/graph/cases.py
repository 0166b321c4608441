"""The measurements."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.graph import data
from bench.views.rounds import Record, alternate

CLIPS, PACK, DIAMOND = "clips of videos", "packing of clips", "seven operators"
TABLES = {"SQLite": "rows into SQLite", "PostgreSQL": "rows into PostgreSQL"}
_SECONDS = 7200
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


def clips(folder: Path, count: int, seconds: tuple[int, int], large_bytes: int, rounds: int) -> list[Record]:
    """Ours, a process for each core, Ray Data, and decoding and encoding alone."""
    names = data.make_videos(folder, count, seconds, large_bytes)
    workers = os.cpu_count() or 1
    steps = {
        "jinx": lambda: _ours(folder, workers),
        "one task per video": lambda: _program("naive", folder, workers),
        "Ray Data": lambda: _program("ray", folder, workers),
    }
    records = alternate(CLIPS, steps, count=len(names), rounds=rounds)
    done = _run([sys.executable, "-m", "bench.graph.programs", "limit", str(folder), "1"])
    seconds_alone = sum(json.loads(done.splitlines()[-1]).values()) / workers
    records.append(_record(CLIPS, "decoding and encoding alone", len(names), seconds_alone))
    return records + packing(folder, rounds)


def packing(folder: Path, rounds: int) -> list[Record]:
    """The clips of the case before, from the page cache into a directory."""
    size = sum(path.stat().st_size for path in (folder / "clips").rglob("*") if path.is_file())

    def pack() -> Record:
        for name in ("packed", "packed.work"):
            shutil.rmtree(folder / name, ignore_errors=True)
        result = _pipeline(folder, "run", "video-pack", "--out", "packed", "--set", "where=1 = 1")
        return {"bytes": size, "operators": sum(totals["seconds"] for totals in result["operators"])}

    return alternate(PACK, {"jinx": pack}, count=1, rounds=rounds)


def tables(folder: Path, rows: int, rounds: int) -> list[Record]:
    """Rows of a dataset, upserted by key."""
    folder.mkdir()
    data.make_rows(folder / "rows.jinx", rows)
    records: list[Record] = []
    (folder / "sqlite.yaml").write_text(_UPSERT % "meta.db")

    def sqlite() -> None:
        (folder / "meta.db").unlink(missing_ok=True)
        _clean_run(folder, "sqlite.yaml")

    records += alternate(TABLES["SQLite"], {"jinx": sqlite}, count=rows, rounds=rounds)
    import pgserver

    server = pgserver.get_server(folder / "postgresql", cleanup_mode="stop")
    try:
        os.environ["BENCH_GRAPH_DB"] = server.get_uri()
        (folder / "postgresql.yaml").write_text(_UPSERT % "env:BENCH_GRAPH_DB")

        def postgresql() -> None:
            server.psql("DROP TABLE IF EXISTS clips;")
            _clean_run(folder, "postgresql.yaml")

        records += alternate(TABLES["PostgreSQL"], {"jinx": postgresql}, count=rows, rounds=rounds)
    finally:
        server.cleanup()
    return records


def diamond(folder: Path, rows: int, rounds: int) -> list[Record]:
    """Seven operators in a row, and in two branches that come together."""
    folder.mkdir()
    data.make_texts(folder / "texts.jinx", rows)
    for name, recipe in (("chain", _CHAIN), ("diamond", _DIAMOND)):
        (folder / f"{name}.yaml").write_text(recipe.format(rows=rows, half=rows // 2, below=rows // 2 - 1))
    steps = {name: lambda name=name: _clean_run(folder, f"{name}.yaml") for name in ("chain", "diamond")}
    return alternate(DIAMOND, steps, count=rows, rounds=rounds)


def _ours(folder: Path, workers: int) -> Record:
    _clean(folder)
    words = ("--in", "videos.jinx", "--out", "out.jinx", "--workers", str(workers))
    result = _pipeline(folder, "run", "video-clips", *words)
    return {"memory": max(totals["peak_bytes"] for totals in result["operators"])}


def _program(kind: str, folder: Path, workers: int) -> None:
    _clean(folder)
    _run([sys.executable, "-m", "bench.graph.programs", kind, str(folder), str(workers)])


def _clean(folder: Path) -> None:
    for name in ("clips", "out.jinx.work"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("out.jinx", "clips.db", "clips.db-wal", "clips.db-shm", "other.db"):
        (folder / name).unlink(missing_ok=True)


def _clean_run(folder: Path, recipe: str) -> None:
    for name in ("out", "out.work", "out.jinx.work"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "out.jinx").unlink(missing_ok=True)
    _pipeline(folder, "run", recipe)


def _pipeline(folder: Path, *words: str) -> Mapping[str, Any]:
    return json.loads(_run([sys.executable, "-m", "jinx_pipeline", *words, "--json"], folder))


def _run(words: list[str], folder: Path | None = None) -> str:
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout


def _record(case: str, contestant: str, count: int, seconds: float) -> Record:
    return {"case": case, "contestant": contestant, "round": 0, "count": count, "wall": seconds, "cpu": seconds}
