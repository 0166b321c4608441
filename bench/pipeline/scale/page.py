"""The page of a run as Markdown: each target next to what was reached, then how costs grow, and all figures."""

from typing import Any

from bench.about import about_run
from bench.pipeline.scale.growth import growths
from bench.pipeline.scale.passes import IN_ONE_PROCESS
from bench.pipeline.scale.simulation import (
    BLOCK_ROWS,
    OPERATORS,
    SPREAD,
    TASK_SECONDS,
    TASKS_PER_BAD_ROW,
    TASKS_PER_DEATH,
    WAKE_SECONDS,
)
from bench.pipeline.scale.written import CASES
from jinx._sizes import natural_size

RECEIPTS_PER_SECOND, MEMORY, RESUME_SECONDS, WRITTEN = 5000, 2_000_000_000, 60, 1.05


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    sections = [_about(results), _targets(results), _growth(results), _passes(), _figures(results)]
    return "\n\n".join(["# The pipeline at scale", *sections]) + "\n"


def _about(results: dict[str, Any]) -> str:
    large = results["large"]
    return (
        f"{about_run(results['about'])}\n\n"
        f"The driver side of a run over {large['blocks'] * BLOCK_ROWS:,} samples in {large['blocks']:,} blocks on "
        f"{large['workers']:,} workers. Driver, scheduler, log and the file of events are the real ones, on a disk. "
        "The workers are simulated on a clock of their own, which jumps to the next event, so that the driver never "
        f"waits for them: a task takes {TASK_SECONDS:g} s, give or take {SPREAD:.0%}, what ends within "
        f"{1000 * WAKE_SECONDS:g} ms arrives together, one task in {TASKS_PER_DEATH:,} loses its worker, one in "
        f"{TASKS_PER_BAD_ROW} has a bad row, and a receipt has the figures of {OPERATORS} operators. Messages of an "
        "engine are not part of it. Every measurement is a process of its own; memory is its largest resident set."
    )


def _targets(results: dict[str, Any]) -> str:
    large, written = results["large"], results["written"]
    drive, resume, slices = large["drive"], large["resume"], large["slices"]
    rate, cpu_rate = (drive["receipts"] / drive[clock] for clock in ("wall", "cpu"))
    memory = max(drive["memory"], resume["memory"])
    growing = results["small"]["drive"]["request_bytes"], drive["request_bytes"]
    rows = [
        (
            "receipts per second",
            f">= {RECEIPTS_PER_SECOND:,}",
            f"{rate:,.0f} ({cpu_rate:,.0f} per CPU second)",
            rate >= RECEIPTS_PER_SECOND,
        ),
        (
            "memory of the driver, also of one that resumes",
            f"<= {natural_size(MEMORY)}",
            natural_size(memory),
            memory <= MEMORY,
        ),
        (
            f"resume with {resume['committed']:,} committed blocks, from the start of the process to the first lease",
            f"<= {RESUME_SECONDS} s",
            f"{resume['wall']:.1f} s ({resume['cpu']:.1f} s of CPU)",
            resume["wall"] <= RESUME_SECONDS,
        ),
        *[
            (
                f"parts that a block after {name} opens",
                "those that hold its rows",
                f"{slices[key]['opens']:,} of {slices['parts']:,}; {slices[key]['holding']:,} hold its rows",
                slices[key]["opens_too_many"] <= 0,
            )
            for key, name in (("dedup", "deduplication"), ("shuffle", "a shuffle"))
        ],
        (
            "a task on its way to a worker",
            "does not grow with the parts",
            f"{growing[0]} bytes with {results['small']['blocks']:,} parts, {growing[1]} with {large['blocks']:,}",
            growing[1] <= 1.1 * growing[0],
        ),
        *[
            (
                f"bytes written per byte of output, besides keys: {case.title}",
                f"<= {WRITTEN:g}",
                f"{written[case.key]['ratio']:.2f}",
                written[case.key]["ratio"] <= WRITTEN,
            )
            for case in CASES
            if case.has_target
        ],
        ("passes over all data in one process", "none", f"{len(IN_ONE_PROCESS)}, see below", not IN_ONE_PROCESS),
    ]
    table = ["| what | target | measured | reached |", "|---|---|---|---|"]
    table += [
        f"| {what} | {target} | {reached} | {'yes' if met else '**no**'} |" for what, target, reached, met in rows
    ]
    return "## Targets\n\n" + "\n".join(table)


def _growth(results: dict[str, Any]) -> str:
    small, large = results["small"], results["large"]
    lines = [
        "## How costs grow\n",
        (
            f"From {small['blocks']:,} blocks and {small['workers']:,} workers to {large['blocks']:,} and "
            f"{large['workers']:,}. The command fails where a bound is exceeded: then a quadratic term is back.\n"
        ),
        "| cost | grows by | bound |",
        "|---|--:|--:|",
    ]
    lines += [f"| {bound.cost} | x{growth:.2f} | x{bound.most:g} |" for bound, growth in growths(results)]
    return "\n".join(lines)


def _passes() -> str:
    lines = ["## Passes over all data in one process\n", "| function | data |", "|---|---|"]
    lines += [f"| `{work.name}` | {work.reads} |" for work in IN_ONE_PROCESS]
    return "\n".join(lines)


def _figures(results: dict[str, Any]) -> str:
    lines = ["## All figures\n", "| | smaller | larger |", "|---|--:|--:|"]
    small, large = _figures_of(results["small"]), _figures_of(results["large"])
    lines += [f"| {name} | {text} | {large[name]} |" for name, text in small.items()]
    written = results["written"]
    volumes = [
        f"{case.title}: {natural_size(written[case.key]['written'])} for "
        f"{natural_size(written[case.key]['output'])} of output and {natural_size(written[case.key]['keys'])} of keys "
        f"and orders (x{written[case.key]['ratio']:.2f})"
        for case in CASES
    ]
    lines.append(
        f"\nWritten by all processes of real runs on {written['rows']:,} documents: {'; '.join(volumes)}. By default "
        "a block becomes a shard as it is; with a `shard_size`, here of 16 blocks, blocks are joined, and written "
        "twice. After a deduplication, what the mapper wrote before is copied once more, without the duplicates."
    )
    return "\n".join(lines)


def _figures_of(size: dict[str, Any]) -> dict[str, str]:
    """The figures of one of the two sizes, by name."""
    drive, resume, slices = size["drive"], size["resume"], size["slices"]
    return {
        "blocks": f"{size['blocks']:,}",
        "workers": f"{size['workers']:,}",
        "driver: wall time": f"{drive['wall']:.1f} s",
        "driver: CPU time of a receipt": f"{1e6 * drive['cpu'] / drive['receipts']:.0f} us",
        "driver: memory": natural_size(drive["memory"]),
        "log and events": natural_size(drive["log_bytes"]),
        "resume: wall time": f"{resume['wall']:.1f} s",
        "resume: CPU time": f"{resume['cpu']:.1f} s",
        "resume: memory": natural_size(resume["memory"]),
        "manifest: file": natural_size(slices["manifest_bytes"]),
        "manifest: time to open it": f"{1e3 * slices['dedup']['open_seconds']:.1f} ms",
        "manifest: memory of a worker that has it open": natural_size(slices["dedup"]["open_memory"]),
        "slice of a block after deduplication": f"{1e3 * slices['dedup']['slice_seconds']:.1f} ms",
        "slice of a block after a shuffle": f"{1e3 * slices['shuffle']['slice_seconds']:.1f} ms",
    }
