"""What is measured. A case is the same job for every system and gives a number that depends on what was read."""

import random
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.peers.peer import Peer

BATCH = 64
COLD_READS = 500
WORKERS = 2
SEED = 5
_MASK = (1 << 61) - 1


class TimeCap(BaseException):
    """The time for a case is up. Not an Exception, so that no peer takes it for its own."""


@dataclass
class Task:
    """One measurement in one process."""

    peer: Peer
    out: Path
    source: Path
    samples: int
    reads: int

    @cached_property
    def permutation(self) -> list[int]:
        """All positions in an order that is the same for every system."""
        order = list(range(self.samples))
        random.Random(SEED).shuffle(order)
        return order

    @cached_property
    def some(self) -> list[int]:
        """The first `reads` of them."""
        return self.permutation[: self.reads]


@dataclass
class Tally:
    """What a case did: samples and a number that depends on their content and order.

    `values` are numbers it gave, of which the checksum is made when the clock has stopped.
    """

    samples: int = 0
    checksum: int = 0
    capped: bool = False
    values: Any = None

    def settle(self) -> None:
        """Turn values into a checksum."""
        if self.values is not None:
            plain = self.values.to_pylist() if hasattr(self.values, "to_pylist") else map(int, self.values)
            for value in plain:
                self.checksum = (self.checksum * 31 + value) & _MASK
            self.values = None


Touch = Callable[[Any], int]


@dataclass(frozen=True)
class Case:
    """A job.

    Attributes:
        name: What the command line calls it.
        title: One line for the report.
        run: The measured part, after `prepare`.
        prepare: What happens before the clock starts; gives `run` its second argument.
        data: Which data it reads.
        basis: "wall" or "cpu": which of the two the ratios are made of.
        cold: Whether the page cache is emptied of the files before.
        kind: "read", "write", "start" (the runner times a whole process) or "paper" (opening counts, disk is watched).
        modules: What is imported before the clock starts, next to what the system names.
    """

    name: str
    title: str
    run: Callable[[Task, Any], Tally]
    prepare: Callable[[Task], Any]
    data: str = "jpeg"
    basis: str = "cpu"
    cold: bool = False
    kind: str = "read"
    modules: tuple[str, ...] = ()


def consume(samples: Iterable[Any], touch: Touch) -> Tally:
    """Touch every sample in turn. The checksum is made later: its arithmetic would cost as much as a small column."""
    values: list[int] = []
    capped = False
    try:
        for sample in samples:
            values.append(touch(sample))  # noqa: PERF401 - a cut keeps what was read
    except TimeCap:
        capped = True
    return Tally(len(values), 0, capped, values)


def consume_batches(batches: Iterable[Iterable[Any]], touch: Touch, *, ordered: bool = True) -> Tally:
    """Touch every sample of every batch. Worker processes may deliver batches in any order."""
    count = checksum = 0
    capped = False
    factor = 31 if ordered else 1
    try:
        for batch in batches:
            for sample in batch:
                checksum = (checksum * factor + touch(sample)) & _MASK
                count += 1
    except TimeCap:
        capped = True
    return Tally(count, checksum, capped)


def pass_over(samples: Iterable[Any]) -> Tally:
    """Take every sample and touch nothing."""
    count = 0
    capped = False
    try:
        for _ in samples:
            count += 1
    except TimeCap:
        capped = True
    return Tally(count, 0, capped)


@contextmanager
def cap(seconds: float) -> Iterator[None]:
    """Raise `TimeCap` in this process after that many seconds."""

    def stop(*_: object) -> None:
        raise TimeCap

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _opened(task: Task) -> Any:
    return task.peer.open(task.out)


def _write(task: Task, _: Any) -> Tally:
    task.peer.write(task.source, task.out)
    flush(task.out)
    return Tally(task.samples)


def flush(directory: Path) -> None:
    """Write every file of a directory to the disk."""
    import os

    for path in [directory, *directory.rglob("*")]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _open(task: Task, _: Any, times: int = 20) -> Tally:
    """Opening alone; what it imports was imported before."""
    for _ in range(times):
        task.peer.open(task.out)
    return Tally(times)


def _open_once(task: Task) -> None:
    task.peer.open(task.out)


def _lengths(task: Task, ds: Any) -> Tally:
    found = task.peer.lengths(ds)
    if not hasattr(found, "__len__"):
        found = list(found)
    return Tally(len(found), values=found)


def _case(name: str, title: str, run: Callable[[Task, Any], Tally], **options: Any) -> Case:
    return Case(name, title, run, options.pop("prepare", _opened), **options)


def _listed() -> list[Case]:
    return [
        _case("write", "write from Parquet", _write, kind="write", prepare=lambda _: None),
        _case("write_snappy", "write from Parquet (SNAPPY)", _write, kind="write", prepare=lambda _: None),
        _case("start", "import, open, first sample in a new process", _open, kind="start", basis="wall"),
        _case("open", "open", _open, prepare=_open_once),
        _case("iterate_nothing", "iterate, touch nothing", lambda t, ds: pass_over(t.peer.stream(ds, ()))),
        _case(
            "iterate_field",
            "iterate, one small column",
            lambda t, ds: consume(t.peer.stream(ds, ["id"]), t.peer.touch_field),
        ),
        _case(
            "iterate_count",
            "iterate, id and number of messages",
            lambda t, ds: consume(t.peer.stream(ds, ["id", "messages"]), t.peer.touch_count),
        ),
        _case("lengths", "number of messages of every sample", _lengths),
        _case(
            "iterate_all",
            "iterate, all columns",
            lambda t, ds: consume(t.peer.stream(ds), t.peer.touch_all),
            basis="wall",
        ),
        _case(
            "random_field",
            "random, one small column",
            lambda t, ds: consume(t.peer.pick(ds, t.some, ["id"]), t.peer.touch_field),
        ),
        _case(
            "random_messages",
            "random, messages",
            lambda t, ds: consume(t.peer.pick(ds, t.some, ["messages"]), t.peer.touch_messages),
        ),
        _case(
            "random_all",
            "random, all columns, one by one",
            lambda t, ds: consume(t.peer.pick(ds, t.some), t.peer.touch_all),
        ),
        _case(
            "take",
            f"random, all columns, {BATCH} at a time",
            lambda t, ds: consume_batches(t.peer.batches(ds, t.some, BATCH), t.peer.touch_all),
            basis="wall",
        ),
        _case(
            "shuffle_nothing",
            "shuffle and iterate, touch nothing",
            lambda t, ds: pass_over(t.peer.shuffled(ds, t.permutation, ())),
        ),
        _case(
            "shuffle_all",
            "shuffle and iterate, all columns",
            lambda t, ds: consume(t.peer.shuffled(ds, t.permutation), t.peer.touch_all),
            basis="wall",
        ),
        _case(
            "sort_nothing",
            "sort by number of messages and iterate, touch nothing",
            lambda t, ds: pass_over(t.peer.sorted(ds, ())),
        ),
        _case(
            "sort_all",
            "sort by number of messages and iterate, all columns",
            lambda t, ds: consume(t.peer.sorted(ds), t.peer.touch_all),
            basis="wall",
        ),
        _case(
            "loader",
            f"torch DataLoader, {WORKERS} workers, batches of {BATCH}, all columns",
            lambda t, ds: consume_batches(t.peer.loader(ds, BATCH, WORKERS), t.peer.touch_all, ordered=False),
            basis="wall",
            modules=("torch.utils.data",),
        ),
        _case(
            "loader_decode",
            f"torch DataLoader, {WORKERS} workers, batches of {BATCH}, JPEG to arrays",
            lambda t, ds: consume_batches(t.peer.image_loader(ds, BATCH, WORKERS), t.peer.touch_decoded, ordered=False),
            basis="wall",
            modules=("torch.utils.data", "numpy", "PIL.Image", "PIL.JpegImagePlugin"),
        ),
        _case(
            "cold_iterate_all",
            "cold page cache: iterate, all columns",
            lambda t, ds: consume(t.peer.stream(ds), t.peer.touch_all),
            basis="wall",
            cold=True,
        ),
        _case(
            "cold_random_all",
            "cold page cache: random, all columns, one by one",
            lambda t, ds: consume(t.peer.pick(ds, t.some[:COLD_READS]), t.peer.touch_all),
            basis="wall",
            cold=True,
        ),
    ]


def _pixels() -> list[Case]:
    """The cases that are also run over raw pixels."""
    chosen = {"write", "iterate_all", "random_all", "take", "loader"}
    return [
        replace(case, name=f"pixels_{case.name}", title=f"raw pixels: {case.title}", data="pixels")
        for case in _listed()
        if case.name in chosen
    ]


def _paper() -> list[Case]:
    """What the MLDataForge paper measures: open, then go over all samples; nothing is said about touching them."""

    def over(samples: Callable[[Peer, Any, Task], Iterable[Any]]) -> Callable[[Task, Any], Tally]:
        return lambda task, _: pass_over(samples(task.peer, task.peer.open(task.out), task))

    jobs: dict[str, tuple[str, Callable[[Task, Any], Tally]]] = {
        "paper_iterate": ("iterate", over(lambda peer, ds, _: peer.stream(ds))),
        "paper_shuffle": ("shuffle", over(lambda peer, ds, task: peer.shuffled(ds, task.permutation))),
        "paper_sort": ("sort", over(lambda peer, ds, _: peer.sorted(ds))),
    }
    return [Case(name, title, run, lambda _: None, data="paper", kind="paper") for name, (title, run) in jobs.items()]


CASES = {case.name: case for case in [*_listed(), *_pixels(), *_paper()]}
