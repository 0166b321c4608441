"""The page of a run as Markdown: targets next to what was reached, then every figure."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench.about import about_run
from bench.views import columns, copying, filters
from bench.views.rounds import Record

_MICROSECONDS = 1e6


@dataclass(frozen=True)
class Target:
    """What ours is to reach in a case.

    Attributes:
        case: Of which case.
        bound: The ratio, or the figure of ours.
        clock: `"wall"` or `"cpu"`; for a figure of another kind, its name.
        others: Whom ours is compared with; the fastest of them counts. None: the figure of ours counts.
        is_speedup: Whether the bound is to be reached from below: so many times as fast, or so many a second.
        scale: What a figure for one item is multiplied with.
        unit: Of the figure.
    """

    case: str
    bound: float
    clock: str
    others: tuple[str, ...] = ()
    is_speedup: bool = False
    scale: float = _MICROSECONDS
    unit: str = "us"


TARGETS = (
    Target(copying.IN_ORDER, 1.5, "cpu", ("cp",)),
    Target(copying.SHUFFLED, 2.5, "cpu", ("cp",)),
    Target(copying.ROWS, 3, "cpu"),
    *(Target(case, 1.15, "cpu", ("direct",)) for case in columns.TOUCHES),
    Target(columns.SAVE, 1.2, "wall", ("pyarrow, Parquet",)),
    Target(columns.OPEN, 5, "wall", scale=1e3, unit="ms"),
    Target(columns.PICKLE, 2000, "bytes", scale=1, unit="bytes"),
    *(Target(case, 2, "wall", filters.PEERS, is_speedup=True) for case in filters.CONDITIONS),
    Target(filters.INDEXED, 100, "wall", is_speedup=True, scale=1e-6, unit="M samples/s"),
)

_ABOUT = """\
Copied: {media:,} samples of 48 kB that do not compress, and {rows:,} rows of 1.2 kB without media, which also are what
is touched, shuffled, through a saved view (`jinx`) and without one (`direct`). `cp` is `cp --reflink=never` of the same
files, each synced. A float column is added to {many:,} samples of one integer each; pyarrow writes it to a Parquet file
of its own, Lance with `add_columns` to a dataset of as many integers; both are synced. Filtered: {lines:,} JSON lines
of 1.3 kB without an index, opened within the time; the indexed column is that of the {many:,} samples, of which half
pass. DuckDB is told the types; its count only is less than what the others give. The contestants take turns, and
medians count; a ratio is the median of those of the rounds. CPU time is that of all threads and children."""


_PARTS = """\
A filter of JSON lines reads the file twice: opening it finds the lines, whose number is the length of the dataset, and
the filter looks into each, which also checks that it is JSON. What both take, and a program that only copies the bytes
once, is shown as "{parts}". Two copies of all bytes are the least that two passes take; what is left is finding
newlines, and checking and reading JSON. DuckDB reads the file once. A profile of the second pass (perf, 100,000 lines)
has a third of its time in the copy and a fifth in the search for brackets and quotes, 64 bytes at a time, which no
reader saves that must know where a row's columns are; the rest is spread over columns and the condition. One pass would
need datasets whose number of samples is not known when they are open."""


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    found = by_contestant(result["records"])
    lines = [
        "# Copies, views, columns, filters",
        "",
        about_run(result),
        "",
        _ABOUT.format(**result["samples"]),
    ]
    if any(case == filters.PARTS for case, _ in found):
        lines += ["", _PARTS.format(parts=filters.PARTS)]
    lines += ["", "## Targets", "", "| case | target | reached | met |", "|---|---|--:|---|"]
    lines += [judged(target, found) for target in TARGETS]
    lines += ["", "## All figures", "", "| case | contestant | wall | CPU |", "|---|---|--:|--:|"]
    lines += [figures(case, contestant, records) for (case, contestant), records in found.items()]
    return "\n".join(lines) + "\n"


def by_contestant(records: list[Record]) -> dict[tuple[str, str], list[Record]]:
    """The records of each case and contestant."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record["case"], record["contestant"]), []).append(record)
    return found


def _per_item(record: Record, clock: str) -> float:
    return record[clock] / record["count"]


def judged(target: Target, found: dict[tuple[str, str], list[Record]]) -> str:
    """A row of the table of targets."""
    ours = [record for record in found.get((target.case, "jinx"), []) if target.clock in record]
    if target.others:
        others = [records for name in target.others if (records := _measured(found, target, name))]
        rounds = zip(ours, *others, strict=False) if others else ()
        ratios = [
            _per_item(record, target.clock) / min(_per_item(other, target.clock) for other in peers)
            for record, *peers in rounds
        ]
        told = target.others[0] if len(target.others) == 1 else "the fastest peer"
        bound = f"{target.bound:g}x {'as fast as ' if target.is_speedup else 'of '}{told}"
        reached, shown = statistics.median(ratios) if ratios else None, "{:.2f}x"
    else:
        figures = [_per_item(record, target.clock) for record in ours]
        bound = f"{target.bound:g} {target.unit}"
        reached, shown = statistics.median(figures) if figures else None, "{:,.3g} " + target.unit
    if target.clock in ("wall", "cpu"):
        bound += f", {'CPU' if target.clock == 'cpu' else 'wall'}"
    sign = ">=" if target.is_speedup else "<="
    if not reached:
        return f"| {target.case} | {sign} {bound} | - | not measured |"
    if target.is_speedup:
        reached = 1 / reached
    if not target.others:
        reached *= target.scale
    is_met = reached >= target.bound if target.is_speedup else reached <= target.bound
    return f"| {target.case} | {sign} {bound} | {shown.format(reached)} | {'yes' if is_met else 'no'} |"


def _measured(found: dict[tuple[str, str], list[Record]], target: Target, name: str) -> list[Record]:
    return [record for record in found.get((target.case, name), []) if "failed" not in record]


def figures(case: str, contestant: str, records: list[Record]) -> str:
    """A row of the table of all figures."""
    failed = next((record["failed"] for record in records if "failed" in record), None)
    if failed:
        return f"| {case} | {contestant} | {failed.replace('|', '/')[:100]} |  |"
    if "bytes" in records[0]:
        return f"| {case} | {contestant} | {records[0]['bytes']:,} bytes |  |"
    times = (statistics.median(_per_item(record, clock) for record in records) for clock in ("wall", "cpu"))
    return f"| {case} | {contestant} | {' | '.join(map(_time, times))} |"


def _time(seconds: float) -> str:
    scale, unit = (1e3, "ms") if seconds >= 1e-3 else (1e6, "us") if seconds >= 1e-6 else (1e9, "ns")  # noqa: PLR2004
    return f"{seconds * scale:,.3g} {unit}"
