"""One pass over the samples by one contestant, in a process of its own.

    python -m bench.cold.contestants CASE CONTESTANT DATA SAMPLES STATE

It prints the time, the CPU time and the bytes of images as JSON. STATE is `cold` or `warm`: cold files leave the page
cache after they were opened, except for what the process has mapped and touched.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BATCH = 64
ITERATE, TAKE, LOADER = "iterate", "take(64), random", "Loader, shuffled"
SEED = 7
Pass = Iterator[int]


def pair(data: Path) -> list[Path]:
    """The files of the dataset."""
    return [data, data.with_suffix(".binx")]


def cool(data: Path) -> None:
    """Drop the files from the page cache."""
    for path in pair(data):
        descriptor = os.open(path, os.O_RDONLY)
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def order(samples: int) -> list[int]:
    """A random order of all samples."""
    numbers = list(range(samples))
    random.Random(SEED).shuffle(numbers)
    return numbers


def with_jinx(case: str, data: Path, samples: int) -> Callable[[], Pass]:
    """Ours, with files opened; the sizes of the images that a pass gives."""
    import jinx

    dataset: Any = jinx.open(data)
    if case == ITERATE:
        return lambda: (len(sample["id"]) and len(sample["image"]) for sample in dataset)
    if case == TAKE:
        numbers = order(samples)
        batches = [numbers[at : at + BATCH] for at in range(0, samples, BATCH)]
        return lambda: (len(sample["image"]) for batch in batches for sample in dataset.take(batch))
    from jinx.torch import Loader

    loader = Loader(dataset, BATCH, shuffle=True, seed=SEED, collate_fn=list)
    return lambda: (len(sample["image"]) for batch in loader for sample in batch)


def with_python(case: str, data: Path, samples: int) -> Callable[[], Pass]:
    """`os.pread` of one image after the other; where they are is known."""
    with data.open("rb") as lines:
        rows = [json.loads(next(lines)) for _ in range(samples)]
    places = [next(value for value in row.values() if isinstance(value, dict)) for row in rows]
    side = os.open(data.with_suffix(".binx"), os.O_RDONLY)
    wanted = range(samples) if case == ITERATE else order(samples)
    return lambda: (len(os.pread(side, places[i]["length"], places[i]["offset"])) for i in wanted)


def with_dd(_: str, data: Path, __: int) -> Callable[[], Pass]:
    """`dd` of both files."""

    def run() -> Pass:
        for path in pair(data):
            subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"], check=True)  # noqa: S607
            yield path.stat().st_size

    return run


def main() -> None:
    """Measure one pass."""
    case, contestant, name, samples, state = sys.argv[1:]
    data = Path(name)
    ready = {"dd": with_dd, "python": with_python}.get(contestant, with_jinx)(case, data, int(samples))
    if state == "cold":
        cool(data)
    started, used = time.perf_counter(), os.times()
    total = sum(ready())
    wall, now = time.perf_counter() - started, os.times()
    cpu = sum(now[:4]) - sum(used[:4])
    print(json.dumps({"wall": wall, "cpu": cpu, "bytes": total}))


if __name__ == "__main__":
    main()
