"""The page of a run as Markdown: targets next to what was reached, then every figure."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench.about import about_run

_MEGABYTE = 1e6
_SLACK = 100 << 20


@dataclass(frozen=True)
class Target:
    """A ratio of wall times that is to be reached.

    Attributes:
        case: Of which case.
        other: The contestant that ours is compared with.
        bound: The ratio.
        is_speedup: Whether ours must be at least so many times as fast; otherwise it may take so many times as long.
    """

    case: str
    other: str
    bound: float
    is_speedup: bool = False


TARGETS = (
    Target("shuffle media", "cp", 2.5),
    Target("sort media", "cp", 2.5),
    Target("shuffle media, 4x memory", "cp", 4),
    Target("sort media, 4x memory", "cp", 4),
    Target("shuffle rows", "cp", 2.5),
    Target("sort rows", "cp", 2.5),
    Target("shuffle rows, 4x memory", "cp", 4),
    Target("sort rows, 4x memory", "cp", 4),
    Target("shuffle media", "mldataforge none", 6, is_speedup=True),
    Target("sort media", "mldataforge none", 6, is_speedup=True),
    Target("shuffle media", "mldataforge zstd", 15, is_speedup=True),
    Target("sort media", "mldataforge zstd", 15, is_speedup=True),
    Target("shuffle media", "hugging face", 12, is_speedup=True),
    Target("sort media", "hugging face", 12, is_speedup=True),
    Target("sort rows", "hugging face", 12, is_speedup=True),
    Target("sort rows", "duckdb", 1.5),
)

_ABOUT = """\
Media: samples of 48 kB ({media:,}, and {large:,} where they are four times the memory). Rows: {rows:,} with a number,
a float key and a short string. Every measurement is a process of its own that ends when the output is synced; imports
count. The contestants take turns, and medians count. `cp` is `cp --reflink=never` of the same files, synced.

{bounded} MLDataForge runs `join jinx --mmap --lazy --encoding b64`, which writes media into the rows; it and
Hugging Face datasets, and DuckDB with media, have one round. Bytes read through a memory map count where they come from
disk. "At least" is what must be read and written in any case: the data once.
"""

_LIMITED = """In the cases with four times the memory, every contestant runs in a control group that bounds all of its
memory, page cache included, to a quarter of our files; jinx and DuckDB are given half of that as their own bound. The
input is cold."""
_COLD = """This machine allows no control groups: in the cases with four times the memory, jinx and DuckDB are given an
eighth of our files as their bound, the input is cold, and the page cache is not bounded."""

_FLOOR = """\
`floor` is `rust/jinx-order/examples/order_floor.rs`, the smallest program that does the same work: it maps the files,
sorts keys and row numbers, copies every line and cell to its new place, compares each line with its checksum, hashes
what is written as the format demands, and writes it. It knows the form of the rows and needs as much memory as it
likes. `cp twice` copies the files to a temporary place and from there: what every way must move that cannot hold the
data."""
# CPU time of a row that was aimed at, in ns.
_AIMED = 200

Records = dict[tuple[str, str], list[dict[str, Any]]]


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    found: Records = {}
    for record in result["records"]:
        found.setdefault((record["case"], record["contestant"]), []).append(record)
    is_limited = all(record.get("limited", True) for record in result["records"])
    bounded = _LIMITED if is_limited else _COLD
    about = _ABOUT.format(**result["samples"], bounded=bounded)
    lines = ["# Shuffle and sort on disk", "", about_run(result), "", about, "## Targets", ""]
    lines += ["| case | target, wall | reached | met |", "|---|---|--:|---|"]
    lines += [_target(target, found) for target in TARGETS]
    lines += _copying(found)
    lines += _bounds(found)
    lines += _floors(found, result["samples"]["rows"])
    for case in dict.fromkeys(case for case, _ in found):
        lines += _figures(case, found)
    return "\n".join(lines) + "\n"


def _median(records: list[dict[str, Any]], name: str) -> float | None:
    values = [record[name] for record in records if name in record]
    return statistics.median(values) if values else None


def _target(target: Target, found: Records) -> str:
    ours, theirs = (found.get((target.case, name), []) for name in ("jinx", target.other))
    text = f"jinx {'>=' if target.is_speedup else '<='} {target.bound:g}x {target.other}"
    own, peer = _median(ours, "wall"), _median(theirs, "wall")
    if own is None or peer is None:
        return f"| {target.case} | {text} | - | not measured |"
    ratio = own / peer
    reached = 1 / ratio if target.is_speedup else ratio
    is_met = reached >= target.bound if target.is_speedup else reached <= target.bound
    return f"| {target.case} | {text} | {reached:.2f}x | {'yes' if is_met else 'no'} |"


def _copying(found: Records) -> list[str]:
    """The speedups that copying the files does not reach either."""
    reached: list[str] = []
    for target in TARGETS:
        copied, peer = (_median(found.get((target.case, name), []), "wall") for name in ("cp", target.other))
        if target.is_speedup and copied and peer and peer / copied < target.bound:
            reached.append(f"{peer / copied:.1f} times as fast as {target.other} in {target.case}")
    if not reached:
        return []
    return ["", f"Copying the files does not reach these targets either: `cp` is {', '.join(reached)}."]


def _bounds(found: Records) -> list[str]:
    """What jinx wrote and held in every case."""
    lines = ["", "| case | bytes written / dataset (target <= 2) | peak private memory | bound + 100 MB | met |"]
    lines.append("|---|--:|--:|--:|---|")
    for (case, name), records in found.items():
        written, private = _median(records, "written"), _median(records, "private")
        if name != "jinx" or written is None or private is None:
            continue
        share, most = written / records[0]["data"], records[0]["bound"] + _SLACK
        is_met = share <= 2 and private <= most  # noqa: PLR2004 - the target
        lines.append(
            f"| {case} | {share:.2f} | {private / _MEGABYTE:,.0f} MB | {most / _MEGABYTE:,.0f} MB "
            f"| {'yes' if is_met else 'no'} |"
        )
    return lines


def _floors(found: Records, rows: int) -> list[str]:
    """How far jinx is from the least work that its rows can be; nothing where no floor was measured."""
    lines: list[str] = []
    for case, name in found:
        own, least = (_median(found.get((case, who), []), "cpu") for who in ("jinx", name))
        if name not in ("floor", "cp twice") or own is None or not least:
            continue
        least_wall, wall = (_median(found.get((case, who), []), "wall") or 0 for who in (name, "jinx"))
        times = " | ".join(f"{seconds * 1e9 / rows:,.0f}" for seconds in (own, least))
        is_met = "yes" if own * 1e9 / rows <= _AIMED else "no, nor by the least" if _is_above(least, rows) else "no"
        lines.append(f"| {case} | {name} | {times} | {own / least:.2f}x | {wall / least_wall:.2f}x | {is_met} |")
    if not lines:
        return []
    head = f"| case | least | jinx, CPU ns a row | least, CPU ns a row | CPU | wall | at most {_AIMED} ns |"
    return ["", "## The least that small rows take", "", _FLOOR, "", head, "|---|---|--:|--:|--:|--:|---|", *lines]


def _is_above(seconds: float, rows: int) -> bool:
    return seconds * 1e9 / rows > _AIMED


def _figures(case: str, found: Records) -> list[str]:
    data = next(record["data"] for (name, _), records in found.items() if name == case for record in records)
    lines = ["", f"## {case.capitalize()}", "", f"At least: {data / _MEGABYTE:,.0f} MB read and written.", ""]
    lines.append(
        "| contestant | wall s | CPU s | peak private MB | read from disk MB | written MB | output MB | plan |"
    )
    lines.append("|---|--:|--:|--:|--:|--:|--:|---|")
    for (name, contestant), records in found.items():
        if name != case:
            continue
        wall, cpu = _median(records, "wall"), _median(records, "cpu")
        if wall is None or cpu is None:
            reason = records[0].get("failed", "no result").replace("|", "/")[:100]
            lines.append(f"| {contestant} | {reason} |  |  |  |  |  |  |")
            continue
        sizes = [(_median(records, key) or 0) / _MEGABYTE for key in ("private", "read", "written", "size")]
        cells = " | ".join(f"{size:,.0f}" for size in sizes)
        lines.append(f"| {contestant} | {wall:.2f} | {cpu:.2f} | {cells} | {records[0].get('plan', '')} |")
    return lines
