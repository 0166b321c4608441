"""The page of a run as Markdown, and the picture of the runs in which nodes die."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.about import about_run
from bench.ray import OURS, RAY_DATA
from bench.ray.blobs import SIZE
from bench.ray.cpu import ACTORS, DOCUMENTS
from bench.ray.driver import BLOCKS
from bench.ray.experiments import BLOCK_SECONDS, EXPERIMENTS, SMALL_BLOCKS
from bench.ray.work import BLOCK_ROWS

Record = dict[str, Any]
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 300, 60, 40
PICTURED = "nodes die"
_COLORS = {OURS: "#1f77b4", RAY_DATA: "#d62728"}


@dataclass(frozen=True)
class Target:
    """What our runs of an experiment must reach; the worst of them counts.

    Attributes:
        experiment: Which.
        title: The goal.
        figure: Of a record.
        bound: To reach.
        at_least: Whether more is better.
        over: The figure is divided by that of this contestant in the same round.
        deaths: Nodes, workers or drivers that must have been seen to die in each run.
    """

    experiment: str
    title: str
    figure: Callable[[Record], float]
    bound: float
    at_least: bool = False
    over: str = ""
    deaths: int = 0


def _beyond_start(record: Record) -> float:
    return (record["ray_cpu"] - record["start_cpu"]) / record["local_cpu"]


def _lost_or_twice(record: Record) -> float:
    return record["lost"] + record["twice"]


def _over_ideal(record: Record) -> float:
    return record["seconds"] / record["ideal"]


def _again_for_a_death(record: Record) -> float:
    return record["again"] / BLOCK_ROWS / record["deaths"]


TARGETS = (
    Target("nodes die", "G1: rows lost or delivered twice", _lost_or_twice, 0, deaths=2),
    Target("nodes die", "G1: time over the ideal of the nodes that remain", _over_ideal, 1.10, deaths=2),
    Target("nodes die", "G1: longest stall, s", lambda run: run["stall"], 1.0, deaths=2),
    Target("nodes return", "G2: rows lost or delivered twice", _lost_or_twice, 0, deaths=4),
    Target("nodes return", "G2: until a new node has work, s", lambda run: run["until_work"], 3, deaths=4),
    Target("workers die", "G3: rows lost or delivered twice", _lost_or_twice, 0, deaths=6),
    Target("workers die", "G3: blocks done again for one kill", _again_for_a_death, 2, deaths=6),
    Target("deadly row", "G5: rows lost besides the deadly one", lambda run: run["lost"] - 1, 0, deaths=1),
    Target("deadly row", "G5: workers that die, 2 + log2 of a block's rows", lambda run: run["deaths"], 5, deaths=1),
    Target("driver dies", "G6: rows lost or written twice", _lost_or_twice, 0, deaths=3),
    Target("driver dies", "G6: blocks done again for one kill, of 2 in work", _again_for_a_death, 2, deaths=3),
    Target("driver dies", "G6: opens of finished inputs", lambda run: run["finished_opens"], 0, deaths=3),
    Target("driver dies", "G6: until the first new block, s", lambda run: max(run["since_call"]), 2, deaths=3),
    Target("shuffled blobs", "G8: bytes of messages for a sample", lambda run: run["message_bytes"], 200),
    Target("shuffled blobs", "G8: MB spilled", lambda run: run["spilled_mb"], 0),
    Target("fused blobs", "G9: MB/s", lambda run: run["mb_per_second"], 600, at_least=True),
    Target("fused blobs", "G9: times Ray Data", lambda run: run["mb_per_second"], 5, at_least=True, over=RAY_DATA),
    Target("fused blobs", "G9: private memory of driver and workers, MB", lambda run: run["program_mb"], 600),
    Target("duplicates", "G10: rows lost when a worker dies", lambda run: run["lost"], 0, deaths=1),
    Target("starve", "G11: until a recipe that cannot run is refused, s", lambda run: run["refused"], 5),
    Target("starve", "G11: longest time without a block, s", lambda run: run["stall"], 60),
    Target(
        "small blocks",
        "G12: empty blocks/s with 4 workers",
        lambda run: run["empty_blocks_per_second"],
        300,
        at_least=True,
    ),
    Target("both engines", "CPU on Ray beyond its start, over the local engine", _beyond_start, 1.15),
)


_ABOUT = """\
All nodes are in this one machine, so a block sleeps in place of work. Every run has a cluster of its own, which is not
in its time. Ray Data runs with its defaults. For a target the worst of our runs counts, and none of them if fewer died
in one than the target wants. Where a target is a multiple of Ray Data, that runs right after ours in every round, and
the multiples of the rounds are what is judged. The others run once. All of it takes no more than 40 minutes."""

_EXPERIMENTS = {
    "nodes die": "240 blocks of 0.25 s on five nodes; two nodes are killed at 35 %, and no others come. Time from the "
    "first block that came out to the last; the ideal is that of the nodes that remain, without any pause.",
    "nodes live": "The same without deaths.",
    "nodes return": "100 blocks on five nodes; four are killed after 20 blocks, and two come after 30.",
    "starve": "20 blocks on two CPUs, by two workers that take one each; with Ray Data"
    " a stage of tasks that take half a CPU comes before them. Then ours is asked for workers with 64 CPUs.",
    "workers die": "300 blocks of 0.1 s on two workers; six workers are killed, one every 36 blocks.",
    "fused blobs": "4,000 blobs of 500 kB, which lie in the page cache, are loaded, checksummed and packed by two "
    "workers, 20 at a time; what comes out are small rows. The start of workers counts. For Ray Data the blobs are "
    "read with `JinxDatasource`, and the function gets them without a copy. The memory is the most that driver and "
    "workers had for themselves; that of Ray's own processes in the same run is the second figure.",
    "few fused blobs": "The same with 400 blobs.",
    "rewritten blobs": "Checksums of 4,000 blobs of 500 kB, and all of them written again with JINX and synced to the "
    "disk. For Ray Data they are written with `JinxDatasink`; it makes one stage of it, too.",
    "shuffled blobs": "The same with 400 blobs in a random order, with 100 MB for Ray's object store. With references, "
    "a column of Ray Data holds where the blobs are.",
    "both engines": f"The seven operators of [the pipeline page](pipeline.md) on {DOCUMENTS:,} documents: CPU seconds "
    f"of all processes, with {ACTORS} workers on either engine. Ray's start is a cluster and {ACTORS} actors that do "
    "nothing. Two runs of each, the second ones in the opposite order; what is shown are their means.",
    "deadly row": "One of 1,920 rows kills the process that touches it.",
    "driver dies": f"{BLOCKS} blocks of 0.1 s on two workers; the input is a directory of 27 shards. The driver is "
    "killed when 10, 40 and 90 % of the rows have been begun, and the same command is given again each time. The time "
    "until the first new block is committed counts from the call of `export` in a driver that is connected; the time "
    "from the start of its process is told, too. Finished inputs are shards whose rows were all committed before; "
    "opens by any process count. Ray Data runs without its checkpoints, which are in beta, so it begins again.",
    "duplicates": "MinHash deduplication of 1,000 different texts; a worker is killed. All texts must remain. "
    "Data-Juicer: `ray_bts_minhash_deduplicator`; the worker dies after it has told its bands.",
    "small blocks": f"{SMALL_BLOCKS:,} blocks of one row, which a filter drops, so that they cost what the "
    "scheduler, Ray and the run log cost; then the same blocks with rows that stay, each of them a part with two syncs "
    "of the disk. The first sixth is not counted.",
}


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    lines = ["# The pipeline on Ray", "", about_run(result), "", _ABOUT, ""]
    lines += ["## Targets", "", "| experiment | target | bound | median | worst | met |", "|---|---|--:|--:|--:|---|"]
    lines += [_judged(target, result["records"]) for target in TARGETS]
    lines += ["", "![Blocks that have come out over time](ray.svg)", "", "## All runs", ""]
    for name in EXPERIMENTS:
        found = [run for run in result["records"] if run["experiment"] == name]
        lines += [f"### {name.capitalize()}", "", _EXPERIMENTS[name], ""]
        lines += ["| contestant | round | what |", "|---|--:|---|"]
        lines += [f"| {run['contestant']} | {run['round'] + 1} | {_told(run)} |" for run in found]
        lines += [""]
        if name == "few fused blobs":
            lines += _start_and_speed(result["records"])
    return "\n".join(lines).rstrip() + "\n"


def _judged(target: Target, records: list[Record]) -> str:
    sign = ">=" if target.at_least else "<="
    start = f"| {target.experiment} | {target.title} | {sign} {target.bound:g} |"
    figures = _figures(target, records)
    if isinstance(figures, str):
        return f"{start} | {_plain(figures)} | no |"
    worst = min(figures) if target.at_least else max(figures)
    is_met = worst >= target.bound if target.at_least else worst <= target.bound
    return f"{start} {statistics.median(figures):.3g} | {worst:.3g} | {'yes' if is_met else 'no'} |"


def _figures(target: Target, records: list[Record]) -> list[float] | str:
    """What each run has reached, or why nothing can be judged."""
    ours = _by_round(records, target.experiment, OURS)
    if not ours:
        return "not measured"
    for run in ours.values():
        if "failed" in run:
            return run["failed"]
        if run.get("deaths", 0) < target.deaths:
            return _too_few(run.get("deaths"), target.deaths)
    if not target.over:
        return [target.figure(run) for run in ours.values()]
    theirs = _by_round(records, target.experiment, target.over)
    rounds = sorted(ours.keys() & theirs.keys())
    if not rounds or any("failed" in theirs[number] for number in rounds):
        return f"{target.over} was not measured"
    return [target.figure(ours[number]) / target.figure(theirs[number]) for number in rounds]


def _by_round(records: list[Record], experiment: str, contestant: str) -> dict[int, Record]:
    wanted = experiment, contestant
    return {run["round"]: run for run in records if (run["experiment"], run["contestant"]) == wanted}


def _too_few(seen: int | None, wanted: int) -> str:
    if seen is None:
        return "deaths were not recorded"
    return f"{seen} of {wanted} were killed" if seen else "nothing was killed"


_SHOWN: tuple[tuple[str, Callable[[Record], str]], ...] = (
    ("failed", lambda run: _plain(run["failed"])),
    ("local_cpu", lambda run: f"{run['ray_cpu']:.1f} CPU s on Ray, {run['start_cpu']:.1f} of them its start"),
    ("local_cpu", lambda run: f"{run['local_cpu']:.1f} CPU s on the local engine"),
    ("ideal", lambda run: f"{run['seconds']:.1f} s, {run['seconds'] / run['ideal']:.2f}x the ideal"),
    ("ideal", lambda run: f"longest stall {run['stall']:.2f} s"),
    ("mb_per_second", lambda run: f"{run['mb_per_second']:.0f} MB/s"),
    ("program_mb", lambda run: f"{run['program_mb']:,} MB of memory, and {run['ray_mb']:,} of Ray's own processes"),
    ("spilled_mb", lambda run: f"{run['spilled_mb']:,} MB spilled"),
    ("message_bytes", lambda run: f"{run['message_bytes']:.0f} B of messages for a sample"),
    ("empty_blocks_per_second", lambda run: f"{run['empty_blocks_per_second']:.0f} empty blocks/s"),
    ("blocks_per_second", lambda run: f"{run['blocks_per_second']:.0f} blocks/s with a part each"),
    ("until_work", lambda run: f"work on a new node after {run['until_work']:.1f} s"),
    ("refused", lambda run: f"64 CPUs refused after {run['refused']:.2f} s"),
    ("lost", lambda run: f"{run['lost']:,} rows lost"),
    ("twice", lambda run: f"{run['twice']:,} rows twice"),
    ("again", lambda run: f"{run['again']:,} rows done again"),
    ("deaths", lambda run: f"{run['deaths']:,} died"),
    ("finished_opens", lambda run: f"{run['finished_opens']:,} opens of finished inputs"),
    ("since_call", lambda run: f"first new block after {_seconds(run['since_call'])} s"),
    ("since_start", lambda run: f"after {_seconds(run['since_start'])} s from the start of the process"),
)


def _seconds(times: list[float]) -> str:
    return ", ".join(f"{seconds:.2f}" for seconds in times)


def _told(record: Record) -> str:
    shown = [say(record) for name, say in _SHOWN if name in record]
    if "wall" in record and "ideal" not in record:
        shown.append(f"{record['wall']:.1f} s with the start of workers")
    return ", ".join(shown)


def _start_and_speed(records: list[Record]) -> list[str]:
    """Of each contestant, what all and few blobs tell about its start and about its speed when it has started."""
    lines: list[str] = []
    for contestant in (OURS, RAY_DATA):
        runs = [run for run in records if run["contestant"] == contestant and "blobs" in run]
        walls = {
            count: statistics.median(run["wall"] for run in runs if run["blobs"] == count)
            for count in {run["blobs"] for run in runs}
        }
        if len(walls) > 1:
            few, many = min(walls), max(walls)
            seconds = (walls[many] - walls[few]) / (many - few)
            speed = f"{SIZE / 1e6 / seconds:.0f} MB/s"
            lines += [f"{contestant}, of the medians: {walls[few] - few * seconds:.1f} s of start, then {speed}.", ""]
    return lines


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
            run for run in records if run["experiment"] == PICTURED and run["contestant"] == name and run.get("times")
        ]
        if runs:
            middle = statistics.median_low([run["seconds"] for run in runs])
            found[name] = next(run for run in runs if run["seconds"] == middle)
    return found


def _rates(times: list[float], step: float = 0.5) -> list[tuple[float, float]]:
    """Blocks a second in the second around each point of time."""
    count = int(times[-1] / step) + 2
    return [
        (at * step, float(sum(at * step - 0.5 <= moment < at * step + 0.5 for moment in times))) for at in range(count)
    ]


def _x(second: float, end: float) -> float:
    return _LEFT + (_WIDTH - 20 - _LEFT) * second / (end + 0.5)


def _y(rate: float, most: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - 34) * rate / (most * 1.3)
