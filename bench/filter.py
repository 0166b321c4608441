"""`python -m bench.filter`: filters by expression next to DuckDB and Hugging Face `filter` over the same JSON lines.

Prints a Markdown page: medians of rounds in which the systems take turns, versions, and ratios to the targets. All of
them start with the file alone: opening it is a part of what is timed. DuckDB is told the types of the columns, which
saves it from guessing, and of two columns at least, with which it is four times as fast as with one. Hugging Face gets
the columns of the condition alone, in batches. The data are kept in `~/.cache/jinx/bench/filter`.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jinx
from bench import environments
from bench.data import chat
from jinx import _core

ROUNDS = 5
SOURCES = ("coco/train2017", "gqa/images", "ocr_vqa/images", "textvqa/train_images")
INDEXED_TARGET, SCANNED_TARGET = 100e6, 2.0


class Case(NamedTuple):
    """One condition, in the language of each system."""

    expression: str
    sql: str
    columns: dict[str, str]
    names: list[str]
    function: Callable[..., list[bool]]


CASES = {
    "a number": Case(
        "score > 0.9",
        "score > 0.9",
        {"score": "DOUBLE", "id": "VARCHAR"},
        ["score"],
        lambda scores: [score > 0.9 for score in scores],  # noqa: PLR2004
    ),
    "a number in a dict, a string": Case(
        "meta.width >= 512 and source == 'gqa/images'",
        "meta.width >= 512 and source = 'gqa/images'",
        {"meta": "STRUCT(width BIGINT)", "source": "VARCHAR"},
        ["meta", "source"],
        lambda metas, sources: [
            meta["width"] >= 512 and source == "gqa/images"  # noqa: PLR2004
            for meta, source in zip(metas, sources, strict=True)
        ],
    ),
    "a substring": Case(
        "contains(caption, 'umbrella')",
        "contains(caption, 'umbrella')",
        {"caption": "VARCHAR", "id": "VARCHAR"},
        ["caption"],
        lambda captions: ["umbrella" in caption for caption in captions],
    ),
}


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


def made(samples: int, indexed: int) -> tuple[Path, Path, Path]:
    """JSON lines, the same as JINX without an index, and JINX with one float column; written once."""
    directory = environments.cache() / "filter"
    directory.mkdir(parents=True, exist_ok=True)
    lines, bare, numbers = (
        directory / name for name in (f"{samples}.jsonl", f"{samples}.jinx", f"{indexed}-numbers.jinx")
    )
    if not lines.exists():
        partial = lines.with_suffix(".part")
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows(samples))
        partial.rename(lines)
    if not bare.exists():
        with jinx.Writer(bare, only_indexed=[]) as writer:
            writer.write_many(rows(samples))
    if not numbers.exists():
        draw = random.Random(1)
        with jinx.Writer(numbers) as writer:
            for _ in range(indexed // 10_000):
                writer.write_many([{"score": draw.random()} for _ in range(10_000)])
    return lines, bare, numbers


def by_duckdb(path: Path, case: Case) -> int:
    """The positions that pass, as a query over the file."""
    import duckdb

    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in case.columns.items())
    found = duckdb.sql(
        f"select rowid from (select row_number() over () as rowid, * from read_json('{path}', columns={{{columns}}}, "  # noqa: S608
        f"format='newline_delimited')) where {case.sql}"
    ).fetchnumpy()
    return len(found["rowid"])


def by_duckdb_count(path: Path, case: Case) -> int:
    """How many pass, which is less work than which."""
    import duckdb

    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in case.columns.items())
    found = duckdb.sql(
        f"select count(*) from read_json('{path}', columns={{{columns}}}, format='newline_delimited') where {case.sql}"  # noqa: S608
    ).fetchall()
    return int(found[0][0])


def by_hugging_face(path: Path, case: Case) -> int:
    """The view that `filter` gives, with nothing in its cache."""
    import datasets

    with tempfile.TemporaryDirectory() as cache:
        ds: Any = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=cache)
        return len(ds.filter(case.function, input_columns=case.names, batched=True))


def by_jinx(path: Path, case: Case) -> int:
    """The view that `filter` gives."""
    return len(jinx.open(path).filter(case.expression))


class Took(NamedTuple):
    """Seconds of the clock, and of all cores together."""

    wall: float
    cpu: float


def timed(work: Callable[[], int]) -> tuple[Took, int]:
    """How long it took, and what it gave."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return Took(time.perf_counter() - wall, time.process_time() - cpu), found


def median(rounds: list[Took]) -> Took:
    """Of each clock."""
    return Took(statistics.median(one.wall for one in rounds), statistics.median(one.cpu for one in rounds))


def main() -> None:
    """Print the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--samples", type=int, default=100_000)
    options.add_argument("--indexed", type=int, default=10_000_000)
    given = options.parse_args()
    import datasets

    datasets.disable_progress_bars()
    lines, bare, numbers = made(given.samples, given.indexed)
    peers = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "datasets"))
    size = lines.stat().st_size / 1e6
    print(f"{given.samples:,} samples, {size:.0f} MB; {peers}; jinx {jinx.__version__} ({_core.build_profile})\n")
    print("ms of wall and CPU time; the ratio is that of the best peer to jinx over JSON lines\n")
    print("| condition | jinx, JSON lines | jinx, JINX | DuckDB | DuckDB, count only | Hugging Face | ratio |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, case in CASES.items():
        ways: dict[str, Callable[[], int]] = {
            "lines": lambda case=case: by_jinx(lines, case),
            "jinx": lambda case=case: by_jinx(bare, case),
            "duckdb": lambda case=case: by_duckdb(lines, case),
            "count": lambda case=case: by_duckdb_count(lines, case),
            "datasets": lambda case=case: by_hugging_face(lines, case),
        }
        print(f"| {name} | {compared(ways)} |", flush=True)
    print(f"\nTarget: {SCANNED_TARGET:.0f}. ", end="")
    ds = jinx.open(numbers)
    took = median([timed(lambda: len(ds.filter("score > 0.5")))[0] for _ in range(ROUNDS)])
    print(
        f"One comparison with an indexed column of {len(ds):,} samples, of which it selects half: "
        f"{shown(took)} ms, {len(ds) / took.wall / 1e6:.0f} M samples/s (target: {INDEXED_TARGET / 1e6:.0f})."
    )


def compared(ways: dict[str, Callable[[], int]]) -> str:
    """The times of all, which take turns, and the ratio."""
    rounds: dict[str, list[Took]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        results = {way: timed(work) for way, work in ways.items()}
        if len({found for _, found in results.values()}) != 1:
            raise ValueError(f"they disagree: {results}")
        for way, (took, _) in results.items():
            rounds[way].append(took)
    times = {way: median(taken) for way, taken in rounds.items()}
    peers = [times[way] for way in ("duckdb", "count", "datasets")]
    wall = min(peer.wall for peer in peers) / times["lines"].wall
    cpu = min(peer.cpu for peer in peers) / times["lines"].cpu
    return f"{' | '.join(map(shown, times.values()))} | {wall:.1f} / {cpu:.1f}"


def shown(took: Took) -> str:
    """Milliseconds."""
    return f"{took.wall * 1000:.0f} / {took.cpu * 1000:.0f}"


if __name__ == "__main__":
    main()
