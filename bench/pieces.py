"""`python -m bench.pieces DATA.jinx`: what the steps of reading one sample cost, by CPU time, one after the other.

The data are those of `bench.run`, which keeps them in `~/.cache/jinx/bench/jpeg-*/stores/jinx`.
"""

import json
import mmap
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jinx

ROUNDS = 7
IMAGE_BYTES = 47_000


def main(path: Path) -> None:
    """Print a Markdown table of microseconds a sample: the median of the rounds."""
    ds = jinx.open(str(path))
    order = list(range(len(ds)))
    random.Random(5).shuffle(order)
    lines = [ds[i].raw() for i in order]
    texts = [json.dumps(ds[i]["messages"]).encode() for i in order]
    sidecar = path.with_suffix(".binx")
    places = [random.Random(i).randrange(sidecar.stat().st_size - IMAGE_BYTES) for i in order]
    small = ("id", "source", "width", "height", "score")
    with sidecar.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        steps: dict[str, Callable[[], Iterable[Any]]] = {
            "make the sample": lambda: map(ds.__getitem__, order),
            "and the id": lambda: (ds[i]["id"] for i in order),
            "and the width, behind the messages": lambda: (_all(ds[i], ("id", "width")) for i in order),
            "and the three other small columns": lambda: (_all(ds[i], small) for i in order),
            "id and number of messages": lambda: (len(ds[i]["id"]) + ds[i].length("messages") for i in order),
            "messages": lambda: (ds[i]["messages"] for i in order),
            "image": lambda: (ds[i]["image"] for i in order),
            "all columns": lambda: (_all(ds[i], (*small, "messages", "image")) for i in order),
            "json.loads of the messages": lambda: map(json.loads, texts),
            "json.loads of the line": lambda: map(json.loads, lines),
            "os.pread of 47 kB": lambda: (os.pread(file.fileno(), IMAGE_BYTES, at) for at in places),
            "a copy of 47 kB from a map": lambda: (mapped[at : at + IMAGE_BYTES] for at in places),
        }
        print("| step | us |\n|---|--:|")
        for name, step in steps.items():
            print(f"| {name} | {statistics.median(_seconds(step) for _ in range(ROUNDS)) / len(ds) * 1e6:.2f} |")


def _all(sample: Any, names: Iterable[str]) -> list[Any]:
    return [sample[name] for name in names]


def _seconds(step: Callable[[], Iterable[Any]]) -> float:
    start = time.process_time()
    for _ in step():
        pass
    return time.process_time() - start


if __name__ == "__main__":
    main(Path(sys.argv[1]))
