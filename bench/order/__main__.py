"""Shuffling and sorting on disk: `make bench-order` writes the page and its data.

    python -m bench.order --save docs/benchmarks
    python -m bench.order --media 2000 --large 4000 --rows 100000 --rounds 1

Every measurement is a process of its own, and the contestants take turns.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.memory import measure
from bench.order import floor, limit
from bench.order.data import make_media, make_rows
from bench.order.page import page

_PACKAGES = ("mldataforge", "datasets", "duckdb", "pyarrow")
_ALL = ("cp", "jinx", "hugging face", "duckdb")
_OLD = ("mldataforge none", "mldataforge zstd")
# Those take minutes, and are far from what they are compared with: one round is enough.
_ONCE = ("hugging face", *_OLD)
# No target is about it there.
_ONCE_OF_MEDIA = (*_ONCE, "duckdb")
# Data of the bounded cases are this many times larger than the memory.
_TIMES = 4


@dataclass(frozen=True)
class Case:
    """One operation on one dataset.

    Attributes:
        name: Of the case.
        data: The directory of the dataset.
        operation: `"shuffle"` or `"sort"`.
        contestants: Who takes part.
        is_bounded: Whether all memory of a contestant, page cache included, is a quarter of the data, which are cold.
    """

    name: str
    data: str
    operation: str
    contestants: tuple[str, ...]
    is_bounded: bool = False


# Hugging Face datasets takes no part where memory is short: its libraries alone would fill it.
CASES = (
    Case("shuffle media", "media", "shuffle", (*_ALL, *_OLD)),
    Case("sort media", "media", "sort", (*_ALL, *_OLD)),
    Case("shuffle media, 4x memory", "large", "shuffle", ("cp", "jinx"), is_bounded=True),
    Case("sort media, 4x memory", "large", "sort", ("cp", "jinx"), is_bounded=True),
    Case("sort rows", "rows", "sort", (*_ALL, "floor")),
    Case("shuffle rows", "rows", "shuffle", ("cp", "jinx", "duckdb", "floor")),
    Case("shuffle rows, 4x memory", "rows", "shuffle", ("cp", "cp twice", "jinx"), is_bounded=True),
    Case("sort rows, 4x memory", "rows", "sort", ("cp", "cp twice", "jinx", "duckdb"), is_bounded=True),
)


def size_of(place: Path) -> int:
    """Bytes of our files."""
    return sum(path.stat().st_size for path in place.glob("in.?inx"))


def cool(place: Path) -> None:
    """Ask the system to forget the files."""
    for path in place.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def run(cases: Sequence[Case], place: Path, rounds: int, memory: int) -> list[dict[str, Any]]:
    """Every case by every contestant, alternately."""
    records: list[dict[str, Any]] = []
    for case in cases:
        for number in range(rounds):
            for name in case.contestants:
                if number == 0 or name not in (_ONCE if case.data == "rows" else _ONCE_OF_MEDIA):
                    record = {**measured(case, name, place, memory), "round": number}
                    records.append(record)
                    print(json.dumps(record), flush=True)
    return records


def measured(case: Case, name: str, place: Path, memory: int) -> dict[str, Any]:
    """One contestant in one case."""
    data = place / case.data
    size = size_of(data)
    # Half of what a bounded process has is for the system's cache of files.
    bound = size // _TIMES // 2 if case.is_bounded else memory
    record: dict[str, Any] = {"case": case.name, "contestant": name, "data": size, "bound": bound}
    with limit.memory_group(size // _TIMES) if case.is_bounded else nullcontext() as group:
        if case.is_bounded:
            cool(data)
            record["limited"] = group is not None
        arguments = [name, case.operation, str(data), str(place / "out"), str(bound), *([str(group)] if group else [])]
        try:
            peak = measure([sys.executable, "-W", "ignore", "-m", "bench.order.contestants", *arguments])
        except RuntimeError as error:
            record["failed"] = str(error).splitlines()[-1]
        else:
            record |= {**json.loads(peak.output.splitlines()[-1]), "private": peak.private}
    shutil.rmtree(place / "out", ignore_errors=True)
    return record


def main() -> None:
    """Measure; print, or save the page."""
    parser = argparse.ArgumentParser(prog="bench.order")
    parser.add_argument("--media", type=int, default=6_000, help="Samples of 48 kB that fit into the memory.")
    parser.add_argument("--large", type=int, default=24_000, help="Samples of 48 kB, four times the memory.")
    parser.add_argument("--rows", type=int, default=10_000_000, help="Small rows.")
    parser.add_argument("--memory", type=int, default=4 << 30, help="Bytes, where the data fit.")
    parser.add_argument("--rounds", type=int, default=3)
    names = [case.name for case in CASES]
    parser.add_argument("--case", action="append", choices=names, help="Only this case; may be repeated.")
    parser.add_argument("--directory", type=Path, help="Where to write; a temporary directory if not given.")
    parser.add_argument("--save", type=save_directory, help="The directory for order.md and order.json.")
    given = parser.parse_args()
    cases = [case for case in CASES if not given.case or case.name in given.case]
    data = {case.data for case in cases}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        place = Path(directory)
        if "media" in data:
            make_media(place / "media", given.media, is_large=False)
        if "large" in data:
            make_media(place / "large", given.large, is_large=True)
        if "rows" in data:
            make_rows(place / "rows", given.rows)
            floor.build(place)
        records = run(cases, place, given.rounds, given.memory)
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.order --media {given.media} --large {given.large} --rows {given.rows} "
        f"--rounds {given.rounds}" + "".join(f" --case '{name}'" for name in given.case or ()),
        "machine": machine(),
        "load": os.getloadavg()[0],
        "versions": {name: version(name) for name in _PACKAGES},
        "seconds": round(time.monotonic() - started),
        "samples": {"media": given.media, "large": given.large, "rows": given.rows},
        "records": records,
    }
    publish("order", result, page(result), given.save)


if __name__ == "__main__":
    main()
