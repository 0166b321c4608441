"""Inputs, operators and digests for tests of the engine."""

import atexit
import json
import os
import shutil
import signal
import tempfile
import time
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

import jinx
import jinx_pipeline as jp

OPERATORS = '''
"""Operators that go wrong on purpose."""

import os
import signal
import sys
import time

import numpy as np
import pyarrow as pa

from jinx_pipeline import Aggregator, Deduplicator, Filter, Grouper, Mapper, Selector, register


@register("slow_filter")
class SlowFilter(Filter):
    """Keeps rows whose number does not divide by three, slowly."""

    seconds: float = 0.0
    stats = {"n_rest": "int64"}

    @property
    def digest(self):
        return self._digest_of({})  # how slow it is changes no row

    @property
    def reads(self):
        return ("n",)

    def compute_stats(self, batch, ctx):
        if "SLOW_FILTER_RAISES" in os.environ:
            raise ValueError("it was measured again")
        if max(batch.column("n"), default=0) >= int(os.environ.get("SLOW_FILTER_HOLDS", sys.maxsize)):
            time.sleep(600)  # a process that waits for this row is killed
        time.sleep(self.seconds * len(batch))
        return {"n_rest": [n % 3 for n in batch.column("n")]}

    def keep(self, stats):
        return stats["n_rest"].to_numpy() > 0


@register("fragile_mapper")
class FragileMapper(Mapper):
    """Adds a column; raises, or kills its process, on some rows."""

    raises: tuple[int, ...] = ()
    kills: tuple[int, ...] = ()

    @property
    def digest(self):
        return self._digest_of({"bad": sorted({*self.raises, *self.kills})})  # they are left out either way

    @property
    def reads(self):
        return ("n",)

    @property
    def writes(self):
        return ("twice",)

    def process(self, batch, ctx):
        numbers = batch.column("n")
        if set(numbers) & set(self.kills):
            os.kill(os.getpid(), signal.SIGSEGV)
        if set(numbers) & set(self.raises):
            raise ValueError("this row is bad")
        return {"twice": [2 * n for n in numbers]}


@register("twin_deduplicator")
class TwinDeduplicator(Deduplicator):
    """Keeps the first row of each pair of numbers."""

    @property
    def reads(self):
        return ("n",)

    def signatures(self, batch, ctx):
        return pa.table({"half": [n // 2 for n in batch.column("n")]})

    def duplicates(self, signatures):
        halves = [half for table in signatures for half in table["half"].to_pylist()]
        first = {}
        originals = [first.setdefault(half, at) for at, half in enumerate(halves)]
        keep = np.array([first_at == at for at, first_at in enumerate(originals)])
        return keep, np.where(keep, -1, np.array(originals))


@register("backwards_selector")
class BackwardsSelector(Selector):
    """All rows, the largest number first."""

    @property
    def reads(self):
        return ("n",)

    def select(self, columns, count, ctx):
        return np.argsort(columns["n"], kind="stable")[::-1]


@register("digit_grouper")
class DigitGrouper(Grouper):
    """Groups by the last digit of the number."""

    @property
    def reads(self):
        return ("n",)

    def group(self, columns, count):
        found = {}
        for at, n in enumerate(columns["n"]):
            found.setdefault(n % 10, []).append(at)
        return [np.array(group) for group in found.values()]


@register("total_aggregator")
class TotalAggregator(Aggregator):
    """The sum of the numbers."""

    def aggregate(self, batch, ctx):
        numbers = batch.column("n")
        return {"digit": numbers[0] % 10, "n": sum(numbers), "rows": len(numbers)}


@register("hungry_mapper")
class HungryMapper(Mapper):
    """Takes a lot of memory on some rows."""

    rows: tuple[int, ...] = ()
    megabytes: int = 0

    @property
    def reads(self):
        return ("n",)

    def process(self, batch, ctx):
        if set(batch.column("n")) & set(self.rows):
            held = bytearray(os.urandom(1 << 20)) * self.megabytes
            time.sleep(3)
            del held
        return {}


@register("greedy_mapper")
class GreedyMapper(Mapper):
    """Takes memory for each row of a batch, and keeps some."""

    row_megabytes: int = 0
    held_megabytes: int = 0

    @property
    def reads(self):
        return ("n",)

    def process(self, batch, ctx):
        ctx.model(str(self.held_megabytes), load_bytes)
        taken = [os.urandom(1000) * (1000 * self.row_megabytes) for _ in range(len(batch))]
        time.sleep(0.02)
        return {"n": [n + 0 * len(one) for n, one in zip(batch.column("n"), taken)]}


def load_bytes(megabytes, device):
    return os.urandom(1000) * (1000 * int(megabytes))
'''


def write_input(path: Path, rows: int = 400) -> Path:
    """Samples with a text, a number and an image."""
    with jinx.Writer(path) as writer:
        for n in range(rows):
            text = f"Sample {n} says http://example.org/{n} to you." + " and more" * (n % 5)
            writer.write({"id": f"s{n}", "text": text, "n": n, "image": bytes([n % 256]) * 50 + bytes(range(256)) * 2})
    return path


def write_operators(folder: Path) -> Path:
    """The file of operators that go wrong."""
    path = folder / "wrong.py"
    path.write_text(OPERATORS, "utf-8")
    return path


@cache
def loaded_operators() -> Path:
    """The file of operators, loaded; one for the process, because a name belongs to one file."""
    folder = tempfile.mkdtemp(prefix="jinx-pipeline-operators-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = write_operators(Path(folder))
    jp.load_file(path)
    return path


def digest(path: Path) -> str:
    """Of a dataset: every name and every byte."""
    found = sha256()
    is_file = path.is_file()
    files = [path, path.with_suffix(".binx")] if is_file else sorted(path.rglob("*"))
    for file in files:
        if file.is_file():
            found.update(b"file" if is_file else file.name.encode())
            found.update(file.read_bytes())
    return found.hexdigest()


def rows_of(path: Path) -> list[dict[str, Any]]:
    """All samples as plain dicts."""
    return jinx.open(path).to_list()


def worker_pids(parent: int) -> list[int]:
    """The workers that a process, or its fork server, has started."""
    names: dict[int, str] = {}
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue
            names[int(folder.name)], parents[int(folder.name)] = name, int(rest.split()[1])
    starting = {parent, *(pid for pid, name in names.items() if name == "jinx-fork" and parents[pid] == parent)}
    return [pid for pid, name in names.items() if name == "jinx-worker" and parents[pid] in starting]


def log_of(work_dir: Path) -> Path:
    """The log of the run of a working directory; a path where there is no file, as long as no run has begun."""
    try:
        run = (work_dir / "CURRENT").read_text().strip()
    except OSError:
        run = "none"
    return work_dir / "runs" / run / "log.jsonl"


def records_of(work_dir: Path, kind: str) -> list[dict[str, Any]]:
    """The records of one kind in the log of a run."""
    records = map(json.loads, log_of(work_dir).read_bytes().splitlines())
    return [record for record in records if record["kind"] == kind]


class Killer:
    """Kills workers of this process while it is entered, `times` of them."""

    def __init__(self, times: int, work_dir: Path, every: int = 3) -> None:
        self._times = times
        self._work_dir = work_dir
        self._every = every
        self._end = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self.killed = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while self.killed < self._times and not self._end.is_set():
            time.sleep(0.02)
            if lines_of(log_of(self._work_dir)) < self._every * (self.killed + 1):
                continue
            for pid in worker_pids(os.getpid())[:1]:
                os.kill(pid, signal.SIGKILL)
                self.killed += 1


def lines_of(path: Path) -> int:
    """Lines of a file; 0 if there is none."""
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0
