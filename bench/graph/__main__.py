"""Clips of videos, tables and graphs: `make bench-graph` writes the page and its data.

python -m bench.graph --make                       # the data alone, which are kept in ~/.cache/jinx/bench/graph
python -m bench.graph --save docs/benchmarks
python -m bench.graph --videos 4 --shortest 3 --longest 6 --large-mb 60 --packed-mb 50 --rows 20000 --texts 5000
"""

import argparse
import os
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import jinx
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.environments import cache
from bench.graph import cases, data
from bench.graph.page import page
from jinx import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.views.rounds import Record

_CASES = ("clips", "large", "packing", "tables", "diamond")
_PACKAGES = ("av", "ray", "psycopg", "pgserver")


def main() -> None:
    """Measure; print, or save the page."""
    parser = argparse.ArgumentParser(prog="bench.graph")
    parser.add_argument("--videos", type=int, default=20, help="Videos of 360p.")
    parser.add_argument("--shortest", type=int, default=10, help="Seconds of the shortest.")
    parser.add_argument("--longest", type=int, default=120, help="Seconds of the longest.")
    parser.add_argument("--large-mb", type=int, default=4000, help="The size of a video that is cut with four others.")
    parser.add_argument("--packed-mb", type=int, default=2000, help="The size of all clips that are packed.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="Rows that are upserted.")
    parser.add_argument("--texts", type=int, default=200_000, help="Texts of the chain and the diamond.")
    parser.add_argument(
        "--rounds", type=int, default=3, help="Rounds of all but the videos and tables, which have one."
    )
    parser.add_argument("--directory", type=Path, help="Where data is kept (default: ~/.cache/jinx/bench/graph).")
    parser.add_argument("--cases", default=",".join(_CASES), help="Some of them, separated by commas.")
    parser.add_argument("--make", action="store_true", help="Only make the data.")
    parser.add_argument("--save", type=save_directory, help="The directory for graph.md and graph.json.")
    given = parser.parse_args()
    names = ("videos", "shortest", "longest", "large_mb", "packed_mb", "rows", "texts")
    sizes = {name: getattr(given, name) for name in names}
    chosen = given.cases.split(",")
    if unknown := [name for name in chosen if name not in _CASES]:
        parser.error(f"no case {', '.join(unknown)}; the cases: {', '.join(_CASES)}")
    folders = _folders(given.directory or cache() / "graph", sizes, chosen)
    if given.make:
        return
    started = time.monotonic()
    options = " ".join(f"--{name.replace('_', '-')} {size}" for name, size in sizes.items())
    about = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.graph {options} --rounds {given.rounds}",
        "machine": machine(),
        "versions": {
            "jinx": f"{jinx.__version__} ({_core.build_profile})",
            **{name: version(name) for name in _PACKAGES},
        },
        "samples": sizes,
    }
    runs: dict[str, Callable[[], list[Record]]] = {
        "clips": lambda: cases.clips(folders["clips"], given.videos, 1),
        "large": lambda: cases.large(folders["large"]),
        "packing": lambda: cases.packing(folders["packing"], given.rounds),
        "tables": lambda: cases.tables(folders["tables"], given.rows, 1),
        "diamond": lambda: cases.diamond(folders["diamond"], given.texts, given.rounds),
    }
    records = [record for name in chosen for record in runs[name]()]
    result = {**about, "load": os.getloadavg()[0], "seconds": round(time.monotonic() - started), "records": records}
    publish("graph", result, page(result), given.save)


def _folders(root: Path, sizes: dict[str, int], chosen: list[str]) -> dict[str, Path]:
    """The directory of the data of each chosen case."""
    count, *seconds, large, packed, rows, texts = sizes.values()
    makers: dict[str, tuple[str, Callable[[Path], object]]] = {
        "clips": (
            f"videos-{count}-{seconds[0]}-{seconds[1]}",
            lambda folder: data.make_videos(folder, count, (seconds[0], seconds[1])),
        ),
        "large": (f"large-{large}", lambda folder: data.make_large(folder, large * 1_000_000)),
        "packing": (f"packing-{packed}", lambda folder: data.make_clips(folder, packed * 1_000_000)),
        "tables": (f"rows-{rows}", lambda folder: data.make_rows(folder / "rows.jinx", rows)),
        "diamond": (f"texts-{texts}", lambda folder: data.make_texts(folder / "texts.jinx", texts)),
    }
    return {name: data.kept(root, *makers[name]) for name in chosen}


if __name__ == "__main__":
    main()
