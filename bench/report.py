"""Writes the pages that docs/benchmarks shows: `python -m bench.report docs/benchmarks/results.json`.

The page names every contestant and every reason why one is missing; all records stand in the results beside it.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

from bench import environments, paper, peers
from bench.cases import CASES, Case
from bench.paper import run_line
from bench.results import Results
from bench.targets import best_peer, outcomes

_UNITS = {
    "memcpy_gb_s": ("copying memory", "GB/s"),
    "page_fault_us": ("first touch of an anonymous page", "us"),
    "pread_blocks_gb_s": ("`pread` from the page cache, 1 MiB blocks into one buffer", "GB/s"),
    "pread_image_us": ("`pread` of one image into a new bytes object", "us"),
    "copy_image_from_fresh_map_us": ("copying one image out of a fresh mapping", "us"),
    "json_line_us": ("`orjson.loads` of one line", "us"),
    "object_ns": ("making a Python object in a loop", "ns"),
    "zstd_decode_gb_s": ("zstd, decoding raw pixels", "GB/s"),
    "zstd_decode_all_cores_gb_s": ("the same on all cores", "GB/s"),
    "jpeg_decode_pillow_us": ("Pillow, decoding one JPEG to an array", "us"),
    "jpeg_decode_pillow_all_cores_us": ("the same on all cores", "us"),
    "cores_gain": ("what all cores parse at once, beside one alone", "times"),
}


def main() -> None:
    """Read results, write page, data and plots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, help="folder of the pages (default: the results' own)")
    options = parser.parse_args()
    results = Results.load(options.results)
    out = options.out or options.results.parent
    out.mkdir(parents=True, exist_ok=True)
    pictures = _draw(options.results, out)
    of_paper = {title: name for title, name in pictures.items() if name.startswith("paper")}
    if of_paper:
        (out / "paper.md").write_text(paper.page(results, of_paper))
    (out / "report.md").write_text(page(results, {t: n for t, n in pictures.items() if t not in of_paper}))


def _draw(results: Path, out: Path) -> dict[str, str]:
    """Pictures need matplotlib, which lives in an environment of its own."""
    command = [environments.python_of("plots"), "-m", "bench.plots", results, out]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(environments.ROOT)}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"bench: no pictures: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def page(results: Results, pictures: dict[str, str]) -> str:
    """The whole page; `pictures` are file names by title."""
    parts = [
        "# Side by side",
        _about(results),
        "## What was to be reached\n\n" + _targets(results),
        "## Pictures\n\n" + "\n\n".join(f"![{title}]({name})" for title, name in pictures.items()),
    ]
    parts += [
        f"## {CASES[case].title[0].upper()}{CASES[case].title[1:]}\n\n{_case(results, CASES[case])}"
        for case in results.cases()
    ]
    parts += ["## What the machine allows\n\n" + _limits(results), "## Who took part\n\n" + _contestants(results)]
    if results.wrong:
        parts.insert(1, '!!! failure "Contestants read different things"\n\n    ' + "\n    ".join(results.wrong))
    return "\n\n".join(parts) + "\n"


def _about(results: Results) -> str:
    about, machine = results.about, results.about["machine"]
    data = " ".join(
        f"{kind}: {facts['samples']:,} samples with {facts['image_bytes'] / 1000:.1f} kB of image and a JSON line of"
        f" {facts['row_bytes'] / 1000:.2f} kB."
        for kind, facts in about["data"].items()
        if kind != "paper"
    )
    runs = "\n".join(map(run_line, (run for run in about["runs"] if run["data"] != ["paper"])))
    note = f'!!! warning "About this run"\n\n    {about["note"]}\n\n' if about.get("note") else ""
    return (
        f"{note}{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']},"
        f" Python {machine['python']}.\nData: {data}\n\n"
        "Every figure is the median of the rounds; a ratio is the median of the ratios of each round, so above 1 means"
        " faster than ref. Each measurement is a process of its own, contestants take turns, the page cache is warm"
        " unless said. Everyone reads the same number of samples in the same order and must arrive at the same"
        f" checksum. The random cases read {about['settings']['reads']:,} samples. A case is cut off after"
        f" {about['settings']['cap']:g} s (`*`). Memory is the highest private memory beyond what the process had"
        " before it opened the data; with workers, theirs is included and pages they share count in each.\n\n"
        f"{runs}"
    )


def _targets(results: Results) -> str:
    lines = ["| operation | to reach | reached | |", "|---|---|---|---|"]
    words = {True: "yes", False: "no", None: "not measured"}
    lines += [f"| {o.operation} | {o.to_reach} | {o.reached} | {words[o.met]} |" for o in outcomes(results)]
    return "\n".join(lines)


def _case(results: Results, case: Case) -> str:
    write = case.kind == "write"
    best = best_peer(results, case.name, case.basis)
    note = f"Ratios by {'CPU' if case.basis == 'cpu' else 'wall'} time. The best peer: {best or 'none'}."
    head = "| | CPU us | wall us | samples a second | x ref | x best peer | memory MB |"
    head += " bytes on disk | at the peak |" if write else ""
    lines = [note, "", head, "|---|" + "--:|" * (head.count("|") - 2)]
    lines += [_row(results, case, peer, best) for peer in _ranked(results, case)]
    missing = []
    for peer in results.peers():
        reason = None if results.of(case.name, peer) else results.reason(case.name, peer)
        if reason:
            missing.append(f"- {peer}: {'does not take part' if reason[0] == 'unsupported' else 'FAILED'}: {reason[1]}")
    return "\n".join(lines) + ("\n\n" + "\n".join(missing) if missing else "")


def _ranked(results: Results, case: Case) -> list[str]:
    """Contestants with a figure, the fastest first."""
    found = {
        peer: results.seconds(case.name, peer, case.basis) for peer in results.peers() if results.of(case.name, peer)
    }
    return sorted(found, key=lambda peer: found[peer] or float("inf"))


def _row(results: Results, case: Case, peer: str, best: str | None) -> str:
    name, basis = case.name, case.basis
    mark = " *" if results.capped(name, peer) else ""
    cpu, wall = results.seconds(name, peer, "cpu"), results.seconds(name, peer, "wall")
    if cpu is None or wall is None:
        return f"| {peer} | not one sample in time{mark} | | | | | |" + (" | |" if case.kind == "write" else "")
    peak = results.figure(name, peer, "private_peak")
    cells = [
        f"{peer}{mark}",
        _digits(cpu * 1e6),
        _digits(wall * 1e6),
        _digits(1 / wall),
        _ratio(results.ratio(name, peer, "ref", basis)),
        _ratio(results.ratio(name, peer, best, basis) if best else None),
        "" if peak is None else f"{max(peak, 0) / 1e6:.1f}",
    ]
    if case.kind == "write":
        cells += [f"{results.figure(name, peer, key) or 0:,.0f}" for key in ("bytes", "bytes_peak")]
    return "| " + " | ".join(f"**{cell}**" if cell and peer == "jinx" else cell for cell in cells) + " |"


def _limits(results: Results) -> str:
    limits = results.about.get("limits", {})
    if not limits:
        return "Not measured in this run."
    lines = ["| one thread | |", "|---|--:|"]
    lines += [f"| {_UNITS[name][0]} | {value:.3g} {_UNITS[name][1]} |" for name, value in limits.items()]
    return "\n".join(lines)


def _contestants(results: Results) -> str:
    known, versions = peers.every(), results.about["versions"]
    lines = ["| | what it is | versions |", "|---|---|---|"]
    for peer in results.peers():
        if peer in known and known[peer].data == ("paper",):
            continue
        text = ", ".join(f"{name} {version}" for name, version in versions.get(peer, {}).items())
        lines.append(f"| {peer} | {known[peer].title if peer in known else ''} | {text} |")
    return "\n".join(lines)


def _digits(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004


def _ratio(value: float | None) -> str:
    return "" if value is None else _digits(value)


if __name__ == "__main__":
    main()
