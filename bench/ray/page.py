"""The page of a run as Markdown, and the picture of the runs in which nodes die."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.about import about_run
from bench.ray.experiments import BLOCK_ROWS, BLOCK_SECONDS, EXPERIMENTS, OURS

Record = dict[str, Any]
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 300, 60, 40
_COLORS = {OURS: "#1f77b4", "Ray Data": "#d62728"}


@dataclass(frozen=True)
class Target:
    """What our runs of an experiment must reach; the worst of them counts."""

    experiment: str
    title: str
    figure: Callable[[Record], float]
    bound: float
    at_least: bool = False


TARGETS = (
    Target("nodes die", "G1: rows lost or delivered twice", lambda one: one["lost"] + one["twice"], 0),
    Target(
        "nodes die", "G1: time over the ideal of the nodes that remain", lambda one: one["seconds"] / one["ideal"], 1.10
    ),
    Target("nodes die", "G1: longest stall, s", lambda one: one["stall"], 1.0),
    Target("workers die", "G3: rows lost or delivered twice", lambda one: one["lost"] + one["twice"], 0),
    Target("workers die", "G3: blocks done again for one kill", lambda one: one["again"] / BLOCK_ROWS / 6, 2),
    Target("deadly row", "G5: rows lost besides the deadly one", lambda one: one["lost"] - 1, 0),
    Target("driver dies", "G6: rows lost or written twice", lambda one: one["lost"] + one["twice"], 0),
    Target("driver dies", "G6: rows done again, of 2 blocks in work", lambda one: one["again"], 2 * BLOCK_ROWS),
    Target("duplicates", "G10: rows lost when a worker dies", lambda one: one["lost"], 0),
    Target(
        "small blocks", "G12: empty blocks/s with 4 workers", lambda one: one["blocks_per_second"], 300, at_least=True
    ),
)

_ABOUT = """\
All nodes are in this one machine, so a block sleeps in place of work. Every run has a cluster of its own, which is not
in its time. Ray Data runs with its defaults. The worst of our runs counts for a target."""

_EXPERIMENTS = {
    "nodes die": "120 blocks of 0.25 s on five nodes; two nodes are killed at 35 %, and no others come. Time from the "
    "first block that came out to the last; the ideal is that of the nodes that remain, without any pause.",
    "nodes live": "The same without deaths.",
    "workers die": "100 blocks of 0.1 s on two workers; six workers are killed, one every twelve blocks.",
    "blobs": "Checksums of 1,000 blobs of 500 kB, and all of them written again with JINX. For Ray Data the blobs are "
    "read with `JinxDatasource` and written with `JinxDatasink`.",
    "deadly row": "One of 640 rows kills the process that touches it.",
    "driver dies": "The driver is killed at half of 100 blocks, and the same command is given again. Ray Data runs "
    "without its checkpoints, which are in beta.",
    "duplicates": "MinHash deduplication of 1,000 different texts; a worker is killed. All texts must remain.",
    "small blocks": "Blocks of one row, with nothing to do; the first 100 are not counted.",
}


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    lines = ["# The pipeline on Ray", "", about_run(result), "", _ABOUT, ""]
    lines += ["## Targets", "", "| experiment | target | bound | reached | met |", "|---|---|--:|--:|---|"]
    lines += [_judged(target, result["records"]) for target in TARGETS]
    lines += ["", "![Blocks that have come out over time](ray.svg)", "", "## All runs", ""]
    for name in EXPERIMENTS:
        found = [one for one in result["records"] if one["experiment"] == name]
        lines += [f"### {name.capitalize()}", "", _EXPERIMENTS[name], ""]
        lines += ["| contestant | round | what |", "|---|--:|---|"]
        lines += [f"| {one['contestant']} | {one['round'] + 1} | {_told(one)} |" for one in found]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _judged(target: Target, records: list[Record]) -> str:
    ours = [one for one in records if one["experiment"] == target.experiment and one["contestant"] == OURS]
    sign = ">=" if target.at_least else "<="
    start = f"| {target.experiment} | {target.title} | {sign} {target.bound:g} |"
    if not ours or any("failed" in one for one in ours):
        why = next((one["failed"] for one in ours if "failed" in one), "not measured")
        return f"{start} {_plain(why)} | no |"
    figures = [target.figure(one) for one in ours]
    worst = min(figures) if target.at_least else max(figures)
    is_met = worst >= target.bound if target.at_least else worst <= target.bound
    return f"{start} {worst:.3g} | {'yes' if is_met else 'no'} |"


def _told(record: Record) -> str:
    shown: list[str] = []
    if "failed" in record:
        shown.append(_plain(record["failed"]))
    if "ideal" in record:
        shown.append(f"{record['seconds']:.1f} s, {record['seconds'] / record['ideal']:.2f}x the ideal")
        shown.append(f"longest stall {record['stall']:.2f} s")
    if "mb_per_second" in record:
        shown.append(f"{record['mb_per_second']:.0f} MB/s")
    if "blocks_per_second" in record:
        shown.append(f"{record['blocks_per_second']:.0f} blocks/s")
    names = {"lost": "rows lost", "twice": "rows twice", "again": "rows done again", "deaths": "workers died"}
    shown += [f"{record[key]:,} {name}" for key, name in names.items() if key in record]
    if "wall" in record and "ideal" not in record:
        shown.append(f"{record['wall']:.1f} s with the start of workers")
    return ", ".join(shown)


def _plain(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")[:120]


def picture(result: dict[str, Any]) -> str:
    """Blocks a second, over the time, of the median run of each contestant in which two of five nodes die; as SVG."""
    runs = _median_runs(result["records"])
    end = max((run["times"][-1] for run in runs.values()), default=1.0)
    most = 5 / BLOCK_SECONDS
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="13"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18">Blocks a second; two of five nodes die at 35 %</text>',
    ]
    for rate in (0, 5, 10, 15, 20, 25):
        y = _y(rate, most)
        lines.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{rate}</text>')
    for second in range(0, int(end) + 1, max(1, int(end) // 8)):
        x = _x(second, end)
        lines.append(f'<text x="{x:.1f}" y="{_HEIGHT - 18}" text-anchor="middle">{second} s</text>')
    for at, (name, run) in enumerate(runs.items()):
        points = " ".join(f"{_x(when, end):.1f},{_y(rate, most):.1f}" for when, rate in _rates(run["times"]))
        color = _COLORS.get(name, "black")
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        lines.append(f'<text x="{_WIDTH - 110}" y="{46 + 18 * at}" fill="{color}">{name}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _median_runs(records: list[Record]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for name in _COLORS:
        runs = [
            one
            for one in records
            if one["experiment"] == "nodes die" and one["contestant"] == name and one.get("times")
        ]
        if runs:
            middle = statistics.median_low([run["seconds"] for run in runs])
            found[name] = next(run for run in runs if run["seconds"] == middle)
    return found


def _rates(times: list[float], step: float = 0.5) -> list[tuple[float, float]]:
    """Blocks a second in the second around each point of time."""
    count = int(times[-1] / step) + 2
    return [(at * step, float(sum(at * step - 0.5 <= one < at * step + 0.5 for one in times))) for at in range(count)]


def _x(second: float, end: float) -> float:
    return _LEFT + (_WIDTH - 20 - _LEFT) * second / (end + 0.5)


def _y(rate: float, most: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - 34) * rate / (most * 1.3)
