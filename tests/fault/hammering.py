"""Reads one dataset from many threads in many forks: `python -m fault.hammering PATH READS`.

The forks are made while threads of the parent read. Prints the reads and the wrong ones among them.
"""

import json
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any

import jinx

ROWS = 500
THREADS = 16
FORKS = 3


def row(number: int) -> dict[str, Any]:
    return {"n": number, "blob": number.to_bytes(4, "little") * 40, "words": [str(number)] * (number % 5)}


def read(datasets: list[Any], draw: random.Random, count: int, counts: list[int]) -> None:
    """Reads at random and counts what was read and what was wrong; an error is wrong, too."""
    for _ in range(count):
        number = draw.randrange(ROWS)
        name = draw.choice(("n", "blob", "words"))
        counts[0] += 1
        try:
            counts[1] += draw.choice(datasets)[number][name] != row(number)[name]
        except Exception as error:  # noqa: BLE001 - the count is what is tested
            counts[1] += 1
            print(repr(error), file=sys.stderr)


def hammer(datasets: list[Any], seed: int, count: int) -> list[int]:
    """16 threads at once."""
    all_counts = [[0, 0] for _ in range(THREADS)]
    threads = [
        threading.Thread(target=read, args=(datasets, random.Random(f"{seed}-{number}"), count // THREADS, counts))
        for number, counts in enumerate(all_counts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [sum(counts) for counts in zip(*all_counts, strict=True)]


def main(path: Path, reads: int) -> None:
    datasets = [jinx.open(path, io=io, verify=verify) for io in ("mmap", "pread") for verify in ("rows", "full")]
    share = reads // (FORKS + 1)
    results: list[list[int]] = []
    busy = threading.Thread(target=lambda: results.append(hammer(datasets, 0, share)))
    busy.start()
    ends = []
    for fork in range(FORKS):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, json.dumps(hammer(datasets, fork + 1, share)).encode())
            os._exit(0)
        os.close(writing)
        ends.append((child, reading))
    for child, reading in ends:
        with os.fdopen(reading, "rb") as pipe:
            results.append(json.loads(pipe.read()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    busy.join()
    print(*[sum(counts) for counts in zip(*results, strict=True)])


if __name__ == "__main__":
    sys.setswitchinterval(1e-4)
    main(Path(sys.argv[1]), int(sys.argv[2]))
