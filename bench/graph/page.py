"""The page of a run as Markdown: targets next to what was reached, then every figure."""

import statistics
from typing import TYPE_CHECKING, Any

from bench.about import about_run
from bench.graph.cases import ALONE, CLIPS, DIAMOND, LARGE, PACK, TABLES
from bench.views.rounds import Record

if TYPE_CHECKING:
    from collections.abc import Callable

_MEGABYTE = 1e6

_ABOUT = """\
{videos:,} videos of 360p, {shortest} to {longest} seconds long, are cut at scenes, none of which begins at a key frame;
clips are measured, stored and listed in SQLite. `jinx` is the recipe `video-clips`. The others use its functions: one
task per video in as many processes as cores, and Ray Data as its documentation reads, expands, maps and writes.
"Decoding and encoding alone" is the CPU time to decode three times (to find scenes, to cut, to measure) and to encode
once, in as many processes as cores and divided by these. A video of {large_mb:,} MB is cut with four others; the memory
is the most private memory of one worker. {packed_mb:,} MB of clips of 500 kB are packed from the page cache. {rows:,}
rows are upserted by key, start of the run and all. The seven operators see the same number of rows in a row and in two
branches, with one worker. The contestants take turns, and medians count; videos and tables have one round."""


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    records: list[Record] = result["records"]
    lines = ["# Graphs and clips", "", about_run(result), "", _ABOUT.format(**result["samples"]), "", "## Targets", ""]
    lines += ["| what | target | reached |", "|---|---|---|"]
    for what, target, reached in _targets(records, {record["case"] for record in records}):
        lines.append(f"| {what} | {target} | {reached} |")
    lines += ["", "## Figures", "", "| case | program | wall s | CPU s |", "|---|---|---|---|"]
    for case, contestant in dict.fromkeys((record["case"], record["contestant"]) for record in records):
        wall, cpu = (_median(records, case, contestant, clock) for clock in ("wall", "cpu"))
        lines.append(f"| {case} | {contestant} | {wall:,.1f} | {cpu:,.1f} |")
    return "\n".join(lines) + "\n"


def _targets(records: list[Record], cases: set[str]) -> list[tuple[str, str, str]]:
    """The targets of the cases that were measured."""

    def ratio(case: str, over: str, under: str, clock: str = "wall") -> float:
        return _median(records, case, over, clock) / _median(records, case, under, clock)

    found: list[tuple[str, str, str, Callable[[], str]]] = [
        (CLIPS, "clips: share of the limit of the CPU", ">= 0.9", lambda: f"{ratio(CLIPS, ALONE, 'jinx'):.2f}"),
        (CLIPS, "clips: times as fast as Ray Data", ">= 2", lambda: f"{ratio(CLIPS, 'Ray Data', 'jinx'):.2f}"),
        (
            LARGE,
            "clips: memory of a worker",
            "<= 300 MB",
            lambda: f"{_median(records, LARGE, 'jinx', 'memory') / _MEGABYTE:.0f} MB",
        ),
        (PACK, "packing, the whole run", ">= 600 MB/s", lambda: f"{_rate(records, 'wall'):.0f} MB/s"),
        *(
            (case, f"{case}, seconds", f"<= {limit}", lambda case=case: f"{_median(records, case, 'jinx', 'wall'):.1f}")
            for case, limit in ((TABLES["SQLite"], 20), (TABLES["PostgreSQL"], 40))
        ),
        (DIAMOND, "diamond: CPU of the chain", "<= 1.05", lambda: f"{ratio(DIAMOND, 'diamond', 'chain', 'cpu'):.3f}"),
    ]
    return [(what, target, reached()) for case, what, target, reached in found if case in cases]


def _rate(records: list[Record], clock: str) -> float:
    """Megabytes of clips per second."""
    return _median(records, PACK, "jinx", "bytes") / _MEGABYTE / _median(records, PACK, "jinx", clock)


def _median(records: list[Record], case: str, contestant: str, name: str) -> float:
    values = [r[name] for r in records if (r["case"], r["contestant"]) == (case, contestant)]
    return statistics.median(values)
