"""Writes the pages of a run: `python -m bench.report docs/benchmarks/results.json`.

`report.md` shows the systems that people know, one table per use. `tables.csv` next to it has every case of every
system, and `results.json` every record.
"""

import argparse
import csv
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench import environments, paper, peers
from bench.cases import CASES, Case
from bench.paper import run_line
from bench.results import Results
from bench.targets import Outcome, best_peer, outcomes
from bench.uses import READING, WRITING, Use, systems

_LIMITS = {
    "memcpy_gb_s": ("copy memory", "GB/s"),
    "page_fault_us": ("touch a new anonymous page", "us"),
    "pread_blocks_gb_s": ("`pread` from the page cache, blocks of 1 MiB into one buffer", "GB/s"),
    "pread_image_us": ("`pread` one image into a new bytes object", "us"),
    "copy_image_from_fresh_map_us": ("copy one image out of a new mapping", "us"),
    "json_line_us": ("`orjson.loads` one line", "us"),
    "object_ns": ("make a Python object in a loop", "ns"),
    "zstd_decode_gb_s": ("decode raw pixels with zstd", "GB/s"),
    "zstd_decode_all_cores_gb_s": ("the same on all cores", "GB/s"),
    "jpeg_decode_pillow_us": ("decode one JPEG to an array with Pillow", "us"),
    "jpeg_decode_pillow_all_cores_us": ("the same on all cores", "us"),
    "cores_gain": ("JSON parsed on all cores, compared with one", "times"),
}
_COLUMNS = (
    *("case", "title", "system", "cpu_us", "wall_us", "samples_a_second", "times_ref", "times_best_peer"),
    *("private_memory_mb", "bytes", "bytes_peak", "cut_off", "reason"),
)
_PAPER = "paper"


def main() -> None:
    """Read results; write pages, tables and charts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, help="directory for the pages (default: next to the results)")
    options = parser.parse_args()
    results = Results.load(options.results)
    out = options.out or options.results.parent
    out.mkdir(parents=True, exist_ok=True)
    charts = _draw(options.results, out)
    of_paper = {title: name for title, name in charts.items() if name.startswith(_PAPER)}
    if of_paper:
        (out / "paper.md").write_text(paper.page(results, of_paper))
    (out / "report.md").write_text(page(results, {t: n for t, n in charts.items() if t not in of_paper}))
    write_tables(results, out / "tables.csv")


def _draw(results: Path, out: Path) -> dict[str, str]:
    """Charts need matplotlib, which has an environment of its own."""
    command = [environments.python_of("plots"), "-m", "bench.plots", results, out]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(environments.ROOT)}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"bench: no charts: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def page(results: Results, charts: dict[str, str]) -> str:
    """The whole page; `charts` are file names by title."""
    parts = ["# Comparison with other formats", _about(results)]
    if results.wrong:
        parts.append('!!! failure "Systems read different data"\n\n    ' + "\n    ".join(results.wrong))
    parts += [f"![{title}]({name})" for title, name in charts.items()]
    parts.append(
        "The tables give samples per second of wall time; the fastest system of a column is **bold**. `*`: the time"
        " limit ended the pass, so the figure is for what was read until then. `-`: the system has no such operation,"
        " or failed; the reason is in [tables.csv](tables.csv). Memory is the highest private memory of any case in the"
        " table, beyond what the process had before it opened the data, worker processes included."
    )
    parts += [f"## {use.title}\n\n{use.note}\n\n{table}" for use in READING if (table := _reading(results, use))]
    parts += [f"## {WRITING[case]}\n\n{_writing(results, case)}" for case in WRITING if case in results.cases()]
    parts += [f"## Open\n\n{_opening(results)}"] if {"open", "start"} & set(results.cases()) else []
    parts += ["## Targets\n\n" + _targets(results), "## Hardware limits\n\n" + _limits(results)]
    parts += ["## Systems compared\n\n" + _systems(results), "## Data and command\n\n" + _source(results)]
    return "\n\n".join(parts) + "\n"


def _about(results: Results) -> str:
    about, machine = results.about, results.about["machine"]
    facts = about["data"].get("jpeg")
    data = f"{facts['samples']:,} samples, each a JPEG of {facts['image_bytes'] / 1000:.0f} kB and a " if facts else ""
    line = f"conversation of {facts['row_bytes'] / 1000:.2f} kB of JSON" if facts else ""
    others = [system for system in systems(results) if not system.startswith(("jinx", "cp"))]
    note = f'\n\n!!! warning "About this run"\n\n    {about["note"]}' if about.get("note") else ""
    commits = {run["commit"] for run in about["runs"]}
    if len(commits) > 1:
        note += (
            f'\n\n!!! warning "Several runs"\n\n    These figures come from {len(about["runs"])} runs at {len(commits)}'
            " commits, so a ratio may compare different runs. `make bench` measures everything in one run, at one"
            " commit."
        )
    return (
        f"How fast JINX and {len(others)} other systems read and write the same multimodal data: {data}"
        f"{line}. The machine has {machine['cores']} cores ({machine['cpu']}), {machine['memory_gib']:.0f} GiB of"
        f" memory, Linux {machine['kernel'].partition('-')[0]} and Python {machine['python']}. The page cache is warm"
        " unless a heading says otherwise.\n\n"
        "Every system reads the same samples in the same order and must arrive at the same checksum. Each measurement"
        " is a process of its own, systems take turns, and every figure is a median."
        f" [How it is measured](index.md#how-it-is-measured) has the details, [Targets](#targets) what JINX does not"
        f" reach.{note}"
    )


def _reading(results: Results, use: Use) -> str:
    """Samples per second of every system and case, the fastest in the last column first; "" without any figure."""
    cases = {case: heading for case, heading in use.cases.items() if case in results.cases()}
    speeds: dict[str, dict[str, float | None]] = {}
    for system in systems(results, compressed=use.compressed):
        found = {case: _speed(results, case, system) for case in cases}
        if any(found.values()):
            speeds[system] = found
    if not speeds:
        return ""
    best = {case: max(found[case] or 0 for found in speeds.values()) for case in cases}
    last = list(cases)[-1]
    names = systems(results, compressed=use.compressed)
    lines = _head([*cases.values(), "memory MB"])
    for system in sorted(speeds, key=lambda name: -(speeds[name][last] or 0)):
        cells: list[str] = []
        for case in cases:
            speed = speeds[system][case]
            text = "-" if speed is None else _si(speed) + (" *" if results.capped(case, system) else "")
            cells.append(f"**{text}**" if speed and speed == best[case] else text)
        peaks = [results.figure(case, system, "private_peak") or 0 for case in cases]
        lines.append(_line([names[system], *cells, f"{max(peaks) / 1e6:.0f}"]))
    return "\n".join(lines)


def _writing(results: Results, case: str) -> str:
    lines = ["Every file is flushed to the disk before the clock stops.", ""]
    lines += _head(["samples / s", "CPU us per sample", "memory MB", "MB on disk", "at the peak"])
    names = {
        system: name
        for system, name in systems(results, compressed=case.startswith("pixels")).items()
        if results.seconds(case, system, "wall")
    }
    for system in sorted(names, key=lambda name: results.seconds(case, name, "wall") or 0):
        cpu = results.seconds(case, system, "cpu") or 0
        figures = [(results.figure(case, system, key) or 0) / 1e6 for key in ("private_peak", "bytes", "bytes_peak")]
        cells = [_si(_speed(results, case, system) or 0), _digits(cpu * 1e6), *(f"{figure:,.0f}" for figure in figures)]
        lines.append(_line([names[system], *cells]))
    return "\n".join(lines)


def _opening(results: Results) -> str:
    lines = ["The first column starts Python, imports the package, opens the dataset and reads one sample.", ""]
    lines += _head(["first sample in a new process, ms", "open alone, ms"])
    names = systems(results)
    times = {system: [results.seconds(case, system, "wall") for case in ("start", "open")] for system in names}
    for system in sorted(times, key=lambda name: times[name][0] or float("inf")):
        if any(times[system]):
            cells = ["-" if seconds is None else _digits(seconds * 1e3) for seconds in times[system]]
            lines.append(_line([names[system], *cells]))
    return "\n".join(lines)


def _targets(results: Results) -> str:
    judged = outcomes(results)
    reached = [outcome for outcome in judged if outcome.met]
    text = (
        f"JINX reaches {len(reached)} of its {len(judged)} targets. Ratios are medians over rounds; CPU time unless the"
        " target says wall. [Where the time goes](pieces.md) explains the ones it misses."
    )
    groups = {
        "Missed": [outcome for outcome in judged if outcome.met is False],
        "Reached": reached,
        "Not measured": [outcome for outcome in judged if outcome.met is None],
    }
    return "\n\n".join([text, *(f"### {title}\n\n{_outcomes(group)}" for title, group in groups.items() if group)])


def _outcomes(group: list[Outcome]) -> str:
    lines = ["| operation | target | result |", "|---|---|---|"]
    return "\n".join([*lines, *(_line([outcome.operation, outcome.target, outcome.result]) for outcome in group)])


def _limits(results: Results) -> str:
    limits: dict[str, float] = results.about.get("limits", {})
    if not limits:
        return "Not measured in this run."
    lines = ["What the same machine does without any format, on one thread:", "", "| | |", "|---|--:|"]
    return "\n".join(
        [*lines, *(f"| {_LIMITS[key][0]} | {value:.3g} {_LIMITS[key][1]} |" for key, value in limits.items())]
    )


def _systems(results: Results) -> str:
    known, versions = peers.every(), results.about["versions"]
    lines = ["| | what was measured | versions |", "|---|---|---|"]
    for system, name in systems(results, compressed=True).items():
        text = ", ".join(f"{package} {version}" for package, version in versions.get(system, {}).items())
        lines.append(_line([name, known[system].title if system in known else "", text]))
    return "\n".join(lines)


def _source(results: Results) -> str:
    runs = "\n".join(run_line(run) for run in results.about["runs"] if run["data"] != [_PAPER])
    settings = results.about["settings"]
    return (
        "[tables.csv](tables.csv) has every case of every system and variant, with CPU and wall time, ratios, memory"
        " and bytes; [results.json](results.json) has every record. Cases at random read"
        f" {settings['reads']:,} samples; a pass ends after {settings['cap']:g} s.\n\n{runs}"
    )


def write_tables(results: Results, path: Path) -> None:
    """Every case of every system, a line each."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        for case in results.cases():
            best = best_peer(results, case, CASES[case].basis)
            writer.writerows(row for peer in results.peers() if (row := _row(results, CASES[case], peer, best)))


def _row(results: Results, case: Case, peer: str, best: str | None) -> dict[str, Any]:
    """The figures of one system, or why it has none; nothing for a case that it was not asked for."""
    row: dict[str, Any] = {"case": case.name, "title": case.title, "system": peer}
    reason = results.reason(case.name, peer)
    if reason:
        return {**row, "reason": ": ".join(reason).splitlines()[0]}
    if not results.of(case.name, peer):
        return {}
    row["cut_off"] = int(results.capped(case.name, peer))
    cpu, wall = (results.seconds(case.name, peer, basis) for basis in ("cpu", "wall"))
    if cpu is None or wall is None:
        return {**row, "reason": "not one sample in time"}
    ratios = [results.ratio(case.name, peer, other, case.basis) if other else None for other in ("ref", best)]
    memory = results.figure(case.name, peer, "private_peak")
    disk = {key: results.figure(case.name, peer, key) for key in ("bytes", "bytes_peak")}
    return {
        **row,
        "cpu_us": f"{cpu * 1e6:.4g}",
        "wall_us": f"{wall * 1e6:.4g}",
        "samples_a_second": f"{1 / wall:.4g}",
        "times_ref": "" if ratios[0] is None else f"{ratios[0]:.4g}",
        "times_best_peer": "" if ratios[1] is None else f"{ratios[1]:.4g}",
        "private_memory_mb": "" if memory is None else f"{max(memory, 0) / 1e6:.1f}",
        **{key: "" if value is None else int(value) for key, value in disk.items()},
    }


def _speed(results: Results, case: str, system: str) -> float | None:
    seconds = results.seconds(case, system, "wall")
    return 1 / seconds if seconds else None


def _head(columns: list[str]) -> list[str]:
    """The head of a table of figures by system."""
    return [_line(["", *columns]), "|---|" + "--:|" * len(columns)]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _digits(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004


def _si(value: float) -> str:
    """Three significant digits with a unit: `11.6 M`, `171 k`."""
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{_digits(value / size)}{unit}"
    return _digits(value)


if __name__ == "__main__":
    main()
