"""`python -m bench.views`: copying as stored, saved views and added columns, next to what they must not cost more than.

Each figure is the median of alternating rounds; times are CPU times of this process and its children unless they say
wall. A row gives the figure, what it is compared with, and the ratio.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import jinx

ROUNDS = 5
CP, SYNC = (shutil.which(name) or name for name in ("cp", "sync"))
Step = Callable[[], object]


def cpu(step: Step) -> float:
    """Seconds of CPU time."""
    before = os.times()
    step()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def wall(step: Step) -> float:
    """Seconds."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def compare(name: str, ours: Step, theirs: Step, *, count: int, clock: Callable[[Step], float], target: str) -> None:
    """Print the medians of both, for one of `count` things, and their ratio."""
    times = [(clock(ours), clock(theirs)) for _ in range(ROUNDS)]
    one, other = (statistics.median(column) / count * 1e6 for column in zip(*times, strict=True))
    print(f"| {name} | {one:.3g} | {other:.3g} | {one / other:.2f} | {target} |")


def media(place: Path, count: int) -> Path:
    """Samples of 48 kB that do not compress."""
    generator = random.Random(1)
    with jinx.Writer(place / "media.jinx", compression=None) as writer:
        for i in range(count):
            writer.write({"id": f"sample-{i}", "n": i, "image": b"\xff\xd8\xff" + generator.randbytes(48_000)})
    return place / "media.jinx"


def texts(place: Path, count: int) -> Path:
    """Rows of 1.2 kB."""
    message = {"role": "user", "content": "a b c d e f g h " * 23}
    with jinx.Writer(place / "texts.jinx") as writer:
        for i in range(count):
            writer.write({"id": f"sample-{i}", "n": i, "score": i / 7, "messages": [message, message, message]})
    return place / "texts.jinx"


def cp(source: Path, target: Path) -> None:
    """Both files copied and synced."""
    for suffix in (".jinx", ".binx"):
        copied = target.with_suffix(suffix)
        subprocess.run([CP, "--reflink=never", source.with_suffix(suffix), copied], check=True)
        subprocess.run([SYNC, copied], check=True)


def copy(source: Path, target: Path, order: object = None) -> None:
    """Every sample copied as stored."""
    with jinx.Writer(target, overwrite=True) as writer:
        writer.copy(jinx.open(source), order)


def copying(place: Path, count: int) -> None:
    """Copying against cp."""
    source, ours, theirs = media(place, count), place / "ours.jinx", place / "theirs.jinx"
    order = np.random.Generator(np.random.PCG64(1)).permutation(count)
    in_order, shuffled = (lambda: copy(source, ours)), (lambda: copy(source, ours, order))
    compare("copy 48 kB in order, us CPU", in_order, lambda: cp(source, theirs), count=count, clock=cpu, target="1.5")
    compare("copy 48 kB shuffled, us CPU", shuffled, lambda: cp(source, theirs), count=count, clock=cpu, target="2.5")
    rows = texts(place, 20 * count)
    compare("copy rows of 1.2 kB, us CPU", lambda: copy(rows, ours), lambda: cp(rows, theirs), count=20 * count,
            clock=cpu, target="3 us")  # fmt: skip


def touching(place: Path, count: int) -> None:
    """One column of every sample, through a saved view and without one."""
    direct = jinx.open(place / "texts.jinx")
    order = list(range(20 * count))
    random.Random(2).shuffle(order)
    direct.select(order).with_columns({"own": np.arange(len(order)) / 3}).save(place / "view.jinx", overwrite=True)
    view, same = jinx.open(place / "view.jinx"), direct.select(order)

    def touch(dataset: jinx.Dataset, name: str) -> Step:
        return lambda: [dataset[i][name] for i in range(len(dataset))]

    for name, theirs in (("n", "n"), ("messages", "messages"), ("own", "score")):
        compare(f"touch {name} through a saved view, us CPU", touch(view, name), touch(same, theirs),
                count=len(order), clock=cpu, target="1.15")  # fmt: skip


def many(place: Path, count: int) -> None:
    """A float column added to many samples, and opening a view of them."""
    with jinx.Writer(place / "many.jinx") as writer:
        writer.write_many({"n": i} for i in range(count))
    values = np.random.Generator(np.random.PCG64(3)).random(count)
    whole = jinx.open(place / "many.jinx")

    def save() -> None:
        whole.with_columns({"score": values}).save(place / "scored.jinx", overwrite=True)

    def parquet() -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"score": values}), place / "scored.parquet")
        subprocess.run([SYNC, place / "scored.parquet"], check=True)

    compare("add a float column and save, us wall", save, parquet, count=count, clock=wall, target="1.5")
    whole.shuffle(seed=1).save(place / "shuffled.jinx", overwrite=True)
    opened = statistics.median(wall(lambda: jinx.open(place / "shuffled.jinx")) for _ in range(ROUNDS))
    print(f"| open a view of {count:,} positions, ms wall | {opened * 1e3:.2f} |  |  | 5 ms for 10 M |")


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(prog="bench.views")
    parser.add_argument("--samples", type=int, default=4000, help="Of 48 kB; rows without media are 20 times as many.")
    parser.add_argument("--many", type=int, default=10_000_000, help="Samples that get a float column.")
    parser.add_argument("--directory", type=Path, help="Where to write; a temporary directory if not given.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        place = Path(directory)
        print("| what | jinx | compared with | ratio | target |\n|---|--:|--:|--:|--:|")
        copying(place, given.samples)
        touching(place, given.samples)
        many(place, given.many)


if __name__ == "__main__":
    main()
