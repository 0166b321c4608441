"""The page with the MLDataForge paper's own benchmark: its Table 1 and figures 1 to 3, and our rows."""

import statistics
from typing import Any

from bench import peers
from bench.results import Results

CASES = {"paper_iterate": "Iteration", "paper_shuffle": "Shuffling", "paper_sort": "Sorting"}
_WHAT = """
The paper (Blasi Núñez, Galke and Schneider-Kamp) goes over all samples of `llava-instruct-mix-vsft`, in order, shuffled
and sorted, and reports CPU and system time, memory and storage; its throughput is samples by user + system second.
Here the same is done with MLDataForge and the libraries it compares with, on generated data of the same shape
({shape}), with our rows added. Opening is part of every measurement, and so are the copies that some readers make of
their files; importing is not. Memory is the highest resident size, pages of mapped files included, as in the paper.

To take the paper's own data where there is room (188 to 290 GB for its training set):

    make bench BENCH_ARGS="--cases paper* --repeat 5 --paper-data /data/llava/train-*.parquet"
""".strip()
_QUARTILES = 4
_ENOUGH = 2


def page(results: Results, pictures: dict[str, str]) -> str:
    """The page; `pictures` are file names by title."""
    facts = results.about["data"]["paper"]
    runs = [run for run in results.about["runs"] if "paper" in run["data"]]
    note = results.about.get("note", "")
    shape = (
        f"{facts['samples']:,} samples of {facts['image_bytes'] / 1000:.0f} kB of decoded image and"
        f" {facts['row_bytes'] / 1000:.2f} kB of JSON; the paper's test set has 13,640"
    )
    parts = [
        "# The MLDataForge paper's benchmark",
        _WHAT.format(shape=shape),
        *([f'!!! warning "About this run"\n\n    {note}'] if note else []),
        "\n".join(map(run_line, runs)),
        *(f"![{title}]({name})" for title, name in pictures.items()),
        *(f"## {title}\n\n{_table(results, case)}" for case, title in CASES.items() if case in results.cases()),
    ]
    return "\n\n".join(parts) + "\n"


def run_line(run: dict[str, Any]) -> str:
    """Which command gave figures, at which commit and when, and how busy the machine was as it began."""
    load = f", load average {run['load']}" if "load" in run else ""
    return f"- {run['at']}, commit `{run['commit']}`{load}: `{run['command']}`"


def throughput(results: Results, case: str, peer: str) -> float | None:
    """Samples by user + system second."""
    seconds = results.seconds(case, peer, "cpu")
    return 1 / seconds if seconds else None


def _table(results: Results, case: str) -> str:
    known = peers.every()
    rounds = max((len(results.of(case, peer)) for peer in results.peers()), default=0)
    lines = [
        f"Median of {rounds} rounds, in brackets the distance of the quartiles.",
        "",
        "| | what | user s | system s | memory MB | storage MB | samples / s |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for peer in results.peers():
        records = results.of(case, peer)
        if not records:
            reason = results.reason(case, peer)
            if reason:
                lines.append(f"| {peer} | {known[peer].title} | {reason[1]} | | | | |")
            continue
        ours = peer.startswith("ours")
        speed = throughput(results, case, peer)
        cells = [
            peer + (" *" if results.capped(case, peer) else ""),
            known[peer].title,
            *(_spread([record[name] for record in records], 3) for name in ("user", "system")),
            *(_spread([record[name] / 1e6 for record in records], 1) for name in ("rss_peak", "bytes_peak")),
            "" if speed is None else f"{speed:,.0f}",
        ]
        lines.append("| " + " | ".join(f"**{cell}**" if ours and cell else cell for cell in cells) + " |")
    return "\n".join(lines)


def _spread(values: list[float], digits: int) -> str:
    """Median [distance of the quartiles]."""
    middle = f"{statistics.median(values):,.{digits}f}"
    if len(values) < _ENOUGH:
        return middle
    low, _, high = statistics.quantiles(values, n=_QUARTILES, method="inclusive")
    return f"{middle} [{high - low:,.{digits}f}]"
