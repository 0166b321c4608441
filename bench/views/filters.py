"""Filters by expression next to DuckDB and Hugging Face `filter` over the same JSON lines.

All of them start with the file alone: opening it is a part of what is timed. DuckDB is told the types of the columns,
which saves it from guessing, and of two columns at least, with which it is four times as fast as with one. Hugging Face
gets the columns of the condition alone, in batches.
"""

import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jinx
from bench.data import chat
from bench.views.rounds import Record, Step, alternate

SOURCES = ("coco/train2017", "gqa/images", "ocr_vqa/images", "textvqa/train_images")
INDEXED = "filter by an indexed column"
PARTS = "what a filter of JSON lines takes"
_BUFFER = 1 << 20
PEERS = ("DuckDB", "DuckDB, count only", "Hugging Face")


class Condition(NamedTuple):
    """One condition, in the language of each system."""

    expression: str
    sql: str
    columns: dict[str, str]
    names: list[str]
    function: Callable[..., list[bool]]


CONDITIONS = {
    "filter by a number": Condition(
        "score > 0.9",
        "score > 0.9",
        {"score": "DOUBLE", "id": "VARCHAR"},
        ["score"],
        lambda scores: [score > 0.9 for score in scores],  # noqa: PLR2004
    ),
    "filter by a nested number and a string": Condition(
        "meta.width >= 512 and source == 'gqa/images'",
        "meta.width >= 512 and source = 'gqa/images'",
        {"meta": "STRUCT(width BIGINT)", "source": "VARCHAR"},
        ["meta", "source"],
        lambda metas, sources: [
            meta["width"] >= 512 and source == "gqa/images"  # noqa: PLR2004
            for meta, source in zip(metas, sources, strict=True)
        ],
    ),
    "filter by a substring": Condition(
        "contains(caption, 'umbrella')",
        "contains(caption, 'umbrella')",
        {"caption": "VARCHAR", "id": "VARCHAR"},
        ["caption"],
        lambda captions: ["umbrella" in caption for caption in captions],
    ),
}


def run(place: Path, samples: int, rounds: int) -> list[Record]:
    """Conditions on paths without an index, over JSON lines of 1.3 kB and the same as JINX."""
    import datasets

    datasets.disable_progress_bars()
    lines, bare = place / "lines.jsonl", place / "bare.jinx"
    with lines.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows(samples))
    with jinx.Writer(bare, only_indexed=[]) as writer:
        writer.write_many(jinx.open(lines))
    records: list[Record] = []
    for case, condition in CONDITIONS.items():
        steps: dict[str, Step] = {
            "jinx": lambda condition=condition: by_jinx(lines, condition.expression),
            "jinx, a JINX file": lambda condition=condition: by_jinx(bare, condition.expression),
            "DuckDB": lambda condition=condition: by_duckdb(lines, condition),
            "DuckDB, count only": lambda condition=condition: by_duckdb_count(lines, condition),
            "Hugging Face": lambda condition=condition: by_hugging_face(lines, condition),
        }
        records += alternate(case, steps, count=samples, rounds=rounds, check=True)
    return records + alternate(PARTS, parts(lines), count=samples, rounds=rounds)


def parts(lines: Path) -> dict[str, Step]:
    """What a filter of JSON lines consists of: it reads the file to find its lines, and again to look into them."""
    dataset, condition = jinx.open(lines), next(iter(CONDITIONS.values()))
    return {
        "read the bytes, once": lambda: read_bytes(lines),
        "open": lambda: _ignored(len(jinx.open(lines))),
        "filter, when it is open": lambda: _ignored(len(dataset.filter(condition.expression))),
    }


def _ignored(result: int) -> None:
    del result


def read_bytes(path: Path) -> None:
    """Copy all bytes of a file into memory that is used again, on all cores: what any program that reads it pays."""
    size, cores = path.stat().st_size, len(os.sched_getaffinity(0))

    def read(part: int) -> None:
        buffer = memoryview(bytearray(_BUFFER))
        at, stop = size * part // cores, size * (part + 1) // cores
        while at < stop:
            at += os.preadv(file, [buffer[: stop - at]], at)

    file = os.open(path, os.O_RDONLY)
    try:
        with ThreadPoolExecutor(cores) as threads:
            list(threads.map(read, range(cores)))
    finally:
        os.close(file)


def indexed(place: Path, samples: int, rounds: int) -> list[Record]:
    """One comparison with an indexed float column, which half of the samples pass."""
    path = place / "many.jinx"
    dataset = jinx.open(path).with_columns({"score": np.random.Generator(np.random.PCG64(4)).random(samples)})
    dataset.save(place / "numbers.jinx", overwrite=True)
    numbers = jinx.open(place / "numbers.jinx")
    steps: dict[str, Step] = {"jinx": lambda: len(numbers.filter("score > 0.5"))}
    return alternate(INDEXED, steps, count=samples, rounds=rounds)


def rows(samples: int) -> Iterator[dict[str, Any]]:
    """Conversations of 1.3 kB as a JSON line."""
    for index in range(samples):
        draw = random.Random(index)
        messages = chat(draw)
        yield {
            "id": f"llava-{index:07d}",
            "messages": messages,
            "caption": messages[-1]["content"][0]["text"],
            "source": draw.choice(SOURCES),
            "meta": {"width": draw.randint(256, 1024), "height": draw.randint(256, 1024)},
            "score": round(draw.betavariate(5, 2), 4),
        }


def by_jinx(path: Path, expression: str) -> int:
    """The view that `filter` gives."""
    return len(jinx.open(path).filter(expression))


def _read_json(path: Path, condition: Condition) -> str:
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in condition.columns.items())
    return f"read_json('{path}', columns={{{columns}}}, format='newline_delimited')"


def by_duckdb(path: Path, condition: Condition) -> int:
    """The positions that pass, as a query over the file."""
    import duckdb

    numbered = f"select row_number() over () as rowid, * from {_read_json(path, condition)}"  # noqa: S608
    found: Any = duckdb.sql(f"select rowid from ({numbered}) where {condition.sql}")  # noqa: S608
    return len(found.fetchnumpy()["rowid"])


def by_duckdb_count(path: Path, condition: Condition) -> int:
    """How many pass, which is less work than which."""
    import duckdb

    query = f"select count(*) from {_read_json(path, condition)} where {condition.sql}"  # noqa: S608
    found: Any = duckdb.sql(query)
    return int(found.fetchall()[0][0])


def by_hugging_face(path: Path, condition: Condition) -> int:
    """The view that `filter` gives, with nothing in its cache."""
    import datasets

    with tempfile.TemporaryDirectory() as cache:
        ds: Any = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=cache)
        return len(ds.filter(condition.function, input_columns=condition.names, batched=True))
