"""The page of a run as Markdown: targets and results, then all figures."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench.about import about_run
from bench.packing.loader_page import loader_part

Record = dict[str, Any]
MILLION = 1_000_000


@dataclass(frozen=True)
class Target:
    """What one of our strategies must reach on each distribution."""

    title: str
    contestant: str
    figure: str
    llava: float
    sft_mix: float
    heavy_tail: float
    at_most: bool = False
    unit: str = "%"


_EXACT, _BEST, _TWO = "jinx, knapsack (exact finish)", "jinx, best fit decreasing", "jinx, knapsack, images <= 8"
TARGETS = (
    Target("tokens only, exact finish: useful tokens", _EXACT, "efficiency", 0.9985, 0.9993, 0.999),
    Target("the same: samples/s of one core", _EXACT, "speed", 5e6, 5e6, 5e6, unit="M/s"),
    Target("tokens only, best fit decreasing: useful tokens", _BEST, "efficiency", 0.996, 0.999, 0.998),
    Target("the same: samples/s of one core", _BEST, "speed", 10e6, 10e6, 10e6, unit="M/s"),
    Target("tokens and images: packs over the volume bound", _TWO, "over_bound", 0.005, 0.025, 0.005, at_most=True),
    Target("the same: samples/s of one core", _TWO, "speed", 1e6, 1e6, 1e6, unit="M/s"),
    Target("slowest of 8 ranks over the mean, images", _TWO, "imbalance", 1.07, 1.07, 1.07, at_most=True, unit="x"),
    Target("time of a plan of 200,000 samples", _TWO, "wall", 0.2, 0.2, 0.2, at_most=True, unit="s"),
    Target("the same: CPU time", _TWO, "cpu", 0.2, 0.2, 0.2, at_most=True, unit="s"),
)


class Results:
    """The records of a run."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.about: dict[str, Any] = results["about"]
        self.large: dict[str, Any] = results["large"]
        self.records: list[Record] = [record for record in results["records"] if "failed" not in record]
        self.failures = {record["contestant"]: record["failed"] for record in results["records"] if "failed" in record}

    def figure(self, contestant: str, distribution: str, figure: str) -> float:
        """The median over the rounds."""
        found = [
            record
            for record in self.records
            if record["contestant"] == contestant and record["distribution"] == distribution
        ]
        if figure == "speed":
            return statistics.median(record["samples"] / record["cpu"] for record in found)
        return statistics.median(record[figure] for record in found)


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    run = Results(results)
    parts = [
        "# Packing",
        about_run(run.about),
        _ABOUT,
        "## Targets\n\n" + _targets(run),
        "## All packers\n\n" + _figures(run),
        "## A plan of many samples\n\n" + _large(run),
        "## The loader\n\n" + loader_part(results["loader"], results["feeds"]),
    ]
    return "\n\n".join(parts) + "\n"


_ABOUT = (
    "Packs of 4096 tokens; synthetic samples (`bench/packing/lengths.py`): `llava`, conversations about 1 to 4 "
    "images; `sft_mix`, short questions, conversations, several images, documents; `heavy_tail`, Pareto text and Zipf "
    "images. Useful tokens are those of samples over those of all packs. The volume bound is the number of packs "
    "that the most used budget needs at least. Speed is samples over CPU time on one thread, each measurement in "
    "a process of its own, the contestants in turn; JINX packs five times in each round, medians. Every result "
    "is checked: each sample in one pack, no budget exceeded. JINX packs 200,000 samples in windows of 16,384."
)


def _targets(run: Results) -> str:
    lines = ["| what | llava | sft_mix | heavy_tail | reached |", "|---|---|---|---|---|"]
    for target in TARGETS:
        cells: list[str] = []
        met = True
        for distribution in ("llava", "sft_mix", "heavy_tail"):
            wanted, found = getattr(target, distribution), run.figure(target.contestant, distribution, target.figure)
            met &= found <= wanted if target.at_most else found >= wanted
            sign = "<=" if target.at_most else ">="
            cells.append(f"{_told(found, target.unit)} ({sign} {_told(wanted, target.unit)})")
        lines.append(f"| {target.title} | {' | '.join(cells)} | {'yes' if met else 'no'} |")
    return "\n".join(lines)


def _told(figure: float, unit: str) -> str:
    if unit == "%":
        return f"{figure:.3%}"
    if unit == "M/s":
        return f"{figure / 1e6:.1f} M"
    return f"{figure:.3f}{' s' if unit == 's' else ''}"


def _figures(run: Results) -> str:
    lines = [
        "| packer | samples | llava | sft_mix | heavy_tail | samples/s of one core |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for contestant in dict.fromkeys(record["contestant"] for record in run.records):
        names = [record["distribution"] for record in run.records if record["contestant"] == contestant]
        cells = [
            f"{run.figure(contestant, name, 'efficiency'):.2%}" if name in names else ""
            for name in ("llava", "sft_mix", "heavy_tail")
        ]
        slowest = min(run.figure(contestant, name, "speed") for name in set(names))
        samples = next(record["samples"] for record in run.records if record["contestant"] == contestant)
        lines.append(f"| {contestant} | {samples:,} | {' | '.join(cells)} | {_rate(slowest)} |")
    told = (
        "Useful tokens, and the slowest of the three speeds. (algorithm): our own short version in Python of what the "
        "project does, because it does not install next to the others; its speed says little. nanoVLM and mmdp limit "
        "a pack to 8 images here, as `jinx, knapsack, images <= 8` does; what cannot be packed better for the images' "
        "sake is in the targets above."
    )
    failures = [f"- {name} has no figures: {why}" for name, why in run.failures.items()]
    failures += [f"- {name} was left out of this run." for name in run.about["left_out"]]
    return "\n".join([told, "", *lines, *([""] if failures else []), *failures])


def _rate(speed: float) -> str:
    return f"{speed / MILLION:.1f} M" if speed >= MILLION else f"{speed / 1e3:,.0f} k"


def _large(run: Results) -> str:
    large = run.large
    return (
        f"{large['samples']:,} samples of 32 to 1300 tokens: {large['packs']:,} packs, {large['efficiency']:.3%} "
        f"useful, {large['cpu']:.1f} s of CPU time, {large['wall']:.1f} s on {run.about['machine']['cores']} cores. "
        f"The process took {large['bytes_per_sample']:.0f} bytes a sample above its lengths, "
        f"{large['peak'] / 1e9:.2f} GB in total."
    )
