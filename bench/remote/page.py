"""The page of a run as Markdown: targets next to what was reached, then every figure."""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.about import about_run
from bench.remote.contestants import AGAIN, FIRST, HALF, HALF_EPOCHS, IN_ORDER, OPEN, SHUFFLED
from bench.remote.store import BYTES_PER_SECOND, FIRST_BYTE, SLOW_FIRST_BYTE

EIGHT = "eight processes with one cache"
_CHUNK = 8 << 20
# The ends of both files, and the header of the sidecar.
_OF_OPENING = 3

Record = dict[str, Any]
Records = dict[tuple[str, str], list[Record]]

_ABOUT = """\
{samples:,} samples of 48 kB that do not compress ({size:,.0f} MB). The store is a process of this machine: {first:.0f}
ms to the first byte, {slow:.0f} ms for one request of a hundred, {speed:.0f} MB/s for each connection, no TLS. `raw` is
a plain HTTP client that fetches our files by 16 requests of 8 MiB at a time. Each pass is a process of its own that
begins with an empty cache; the second epoch follows the first one, with its cache. Opening is timed after a local file
was opened, so without Python's imports. Nobody has worker processes. Ours
shuffles by blocks (`Loader(shuffle="blocks")`). The contestants take turns, and medians count; a ratio is the median of
those of the rounds. Rates count the bytes of images (`raw`: of files)."""


@dataclass(frozen=True)
class Target:
    """A figure that is to be reached.

    Attributes:
        what: Its name.
        bound: At least, or at most if `is_most`.
        reached: The figure of a run, if it was measured.
    """

    what: str
    bound: float
    reached: Callable[["Run"], float | None]
    is_most: bool = False
    form: str = "{:.2f}x"

    def row(self, run: "Run") -> str:
        """A line of the table."""
        text = f"| {self.what} | {'<=' if self.is_most else '>='} {self.form.format(self.bound)} |"
        reached = self.reached(run)
        if reached is None:
            return f"{text} - | not measured |"
        is_met = reached <= self.bound if self.is_most else reached >= self.bound
        return f"{text} {self.form.format(reached)} | {'yes' if is_met else 'no'} |"


@dataclass(frozen=True)
class Run:
    """The records of a run."""

    bytes: int
    records: Records

    def of(self, case: str, contestant: str = "jinx") -> list[Record]:
        """The records of one contestant in one case."""
        return self.records.get((case, contestant), [])

    def ratio(self, case: str, other: str, other_case: str | None = None) -> float | None:
        """The rate of ours to that of another, in the same rounds."""
        pairs = zip(self.of(case), self.of(other_case or case, other), strict=False)
        return _median([_rate(own) / _rate(theirs) for own, theirs in pairs])

    def least(self, case: str, others: tuple[str, ...]) -> float | None:
        """The smallest of several ratios."""
        ratios = [ratio for other in others if (ratio := self.ratio(case, other)) is not None]
        return min(ratios, default=None)

    @property
    def chunks(self) -> int:
        """The requests that reading everything by chunks takes."""
        return math.ceil(self.bytes / _CHUNK) + 1


def _median(numbers: list[float]) -> float | None:
    return statistics.median(numbers) if numbers else None


def _rate(record: Record) -> float:
    return record["bytes"] / record["wall"]


def _each(case: str, figure: Callable[[Record, Run], float]) -> Callable[[Run], float | None]:
    return lambda run: _median([figure(record, run) for record in run.of(case)])


TARGETS = (
    Target("first epoch, in order / raw download", 0.9, lambda run: run.ratio(IN_ORDER, "raw")),
    Target("first epoch, shuffled / raw download", 0.9, lambda run: run.ratio(SHUFFLED, "raw")),
    Target("first epoch / litdata", 3, lambda run: min(_known(run, "litdata"), default=None)),
    Target("first epoch / Streaming", 6, lambda run: min(_known(run, "streaming"), default=None)),
    Target("first epoch, in order / fsspec+pyarrow", 1, lambda run: run.ratio(IN_ORDER, "fsspec+pyarrow")),
    Target("second epoch / files on this machine", 0.95, lambda run: run.ratio(AGAIN, "local")),
    Target(
        "cache of half the data: hits after the first epoch",
        45,
        _each(HALF, lambda found, run: 100 * (1 - (found["sent_bytes"] / run.bytes - 1) / (HALF_EPOCHS - 1))),
        form="{:.0f} %",
    ),
    Target(
        "cache of half the data: MB above its size at any time",
        0,
        _each(HALF, lambda found, run: max(0, found["cache_bytes"] - run.bytes // 2) / 1e6),
        is_most=True,
        form="{:.1f}",
    ),
    Target(
        "bytes fetched / bytes of the data",
        1.02,
        _each(SHUFFLED, lambda found, run: found["sent_bytes"] / run.bytes),
        is_most=True,
    ),
    Target(
        "requests over chunks and 3 for opening",
        0,
        _each(SHUFFLED, lambda found, run: found["sent_requests"] - run.chunks - _OF_OPENING),
        is_most=True,
        form="{:.0f}",
    ),
    Target(
        "eight processes, one cache: requests / those of one",
        1.05,
        _each(EIGHT, lambda found, run: (found["sent_requests"] - 7 * _OF_OPENING) / (run.chunks + _OF_OPENING)),
        is_most=True,
    ),
    Target(
        "open, in round trips",
        1.5,
        _each(OPEN, lambda found, _: found["wall"] / FIRST_BYTE),
        is_most=True,
        form="{:.1f}",
    ),
    Target(
        "open and first sample, in round trips",
        4,
        _each(FIRST, lambda found, _: found["wall"] / FIRST_BYTE),
        is_most=True,
        form="{:.1f}",
    ),
)


def _known(run: Run, other: str) -> list[float]:
    return [ratio for case in (IN_ORDER, SHUFFLED) if (ratio := run.ratio(case, other)) is not None]


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    records: Records = {}
    for record in result["records"]:
        records.setdefault((record["case"], record["contestant"]), []).append(record)
    run = Run(result["bytes"], records)
    about = _ABOUT.format(
        samples=result["samples"],
        size=result["bytes"] / 1e6,
        first=FIRST_BYTE * 1000,
        slow=SLOW_FIRST_BYTE * 1000,
        speed=BYTES_PER_SECOND / 1e6,
    )
    lines = ["# Object stores", "", about_run(result), "", about, "", "## Targets", ""]
    lines += ["| figure | target | reached | met |", "|---|---|--:|---|"]
    lines += [target.row(run) for target in TARGETS]
    lines += ["", "## All figures", "", "| case | contestant | MB/s | seconds | CPU s/GB | requests | MB sent |"]
    lines += ["|---|---|--:|--:|--:|--:|--:|"]
    lines += [_figures(*key, found) for key, found in records.items()]
    for name, reason in result["failed"].items():
        lines += ["", f"{name} took no part: {reason}"]
    return "\n".join(lines) + "\n"


def _figures(case: str, contestant: str, records: list[Record]) -> str:
    def middle(figure: Callable[[Record], float]) -> float:
        return statistics.median(figure(record) for record in records)

    rate, cpu = middle(_rate) / 1e6, middle(lambda found: found["cpu"] / found["bytes"]) * 1e9
    shown = "- | " if case in {OPEN, FIRST} else f"{rate:,.0f} | "
    used = "-" if case in {OPEN, FIRST} else f"{cpu:.2f}"
    sent = (
        f"{middle(lambda found: found['sent_requests']):,.0f} | {middle(lambda found: found['sent_bytes']) / 1e6:,.1f}"
    )
    return f"| {case} | {contestant} | {shown}{middle(lambda found: found['wall']):.3f} | {used} | {sent} |"
