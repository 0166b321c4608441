"""The page of a run as Markdown: targets next to what was reached, then every figure."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench.about import about_run
from bench.cold.contestants import ITERATE, LOADER, TAKE

_MEGABYTE = 1e6


@dataclass(frozen=True)
class Target:
    """A ratio of rates that is to be reached.

    Attributes:
        case: Of which case.
        state: `"cold"` or `"warm"`.
        other: Whom ours is compared with.
        bound: So many times as fast.
    """

    case: str
    state: str
    other: str
    bound: float


TARGETS = (
    Target(ITERATE, "cold", "dd", 0.9),
    Target(TAKE, "cold", "base", 2),
    Target(LOADER, "cold", "base", 2.5),
    *(Target(case, "warm", "base", 0.98) for case in (ITERATE, TAKE, LOADER)),
)

_ABOUT = """\
{samples:,} samples of 48 kB that do not compress. Cold: after the files were opened, they are synced and dropped from
the page cache (`posix_fadvise`); the host of a virtual machine may still hold them. `dd` reads both files with `bs=1M`;
`python` is `os.pread` of one image after the other, whose places it knows; {base} Every pass is a process of its own.
The contestants take turns, and medians count; a ratio is the median of those of the rounds. Rates count the bytes of
images (`dd`: of files). CPU time is that of all threads and children."""
_BASE = "`base` is jinx before it read ahead of cold files."
_NO_BASE = "an older build (`--base`) took no part, so what is compared with it was not measured."

Records = dict[tuple[str, str, str], list[dict[str, Any]]]


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    found: Records = {}
    for record in result["records"]:
        found.setdefault((record["case"], record["state"], record["contestant"]), []).append(record)
    about = _ABOUT.format(samples=result["samples"], base=_BASE if result["base"] else _NO_BASE)
    lines = ["# Cold files", "", about_run(result), "", about, "", "## Targets", ""]
    lines += ["| case | target | reached | met |", "|---|---|--:|---|"]
    lines += [_judged(target, found) for target in TARGETS]
    lines += ["", "## All figures", "", "| case | files | contestant | MB/s | CPU s/GB |", "|---|---|---|--:|--:|"]
    lines += [_figures(*key, records) for key, records in found.items()]
    return "\n".join(lines) + "\n"


def _rate(record: dict[str, Any]) -> float:
    return record["bytes"] / record["wall"]


def _judged(target: Target, found: Records) -> str:
    ours, theirs = (found.get((target.case, target.state, name), []) for name in ("jinx", target.other))
    text = f"| {target.case}, {target.state} | >= {target.bound:g}x as fast as {target.other} |"
    ratios = [_rate(own) / _rate(other) for own, other in zip(ours, theirs, strict=False)]
    if not ratios:
        return f"{text} - | not measured |"
    reached = statistics.median(ratios)
    return f"{text} {reached:.2f}x | {'yes' if reached >= target.bound else 'no'} |"


def _figures(case: str, state: str, contestant: str, records: list[dict[str, Any]]) -> str:
    rate = statistics.median(_rate(record) for record in records) / _MEGABYTE
    cpu = statistics.median(record["cpu"] / record["bytes"] for record in records) * 1e9
    return f"| {case} | {state} | {contestant} | {rate:,.0f} | {cpu:.2f} |"
