"""The plain table on the terminal: microseconds a sample, and how many times as fast as ref."""

from bench.cases import CASES
from bench.results import Results

_WIDTH = 22


def table(results: Results) -> str:
    """A line for each case, a column for each contestant: `cpu|wall us`, then the ratio to ref on the case's basis."""
    names = results.peers()
    lines = ["us a sample, CPU / wall, and times as fast as ref (by what `by` says)", ""]
    lines.append(f"{'':24}{'by':5}" + "".join(f"{name:>{_WIDTH}}" for name in names))
    for case in results.cases():
        basis = CASES[case].basis
        cells = "".join(f"{_cell(results, case, name, basis):>{_WIDTH}}" for name in names)
        lines.append(f"{case:24}{basis:5}{cells}")
    return "\n".join(lines)


def _cell(results: Results, case: str, peer: str, basis: str) -> str:
    cpu, wall = results.seconds(case, peer, "cpu"), results.seconds(case, peer, "wall")
    if cpu is None or wall is None:
        reason = results.reason(case, peer)
        return reason[0] if reason else "-"
    ratio = None if peer == "ref" else results.ratio(case, peer, "ref", basis)
    tail = f" x{_short(ratio)}" if ratio else ""
    return f"{_short(cpu * 1e6)}/{_short(wall * 1e6)}{tail}{'*' if results.capped(case, peer) else ''}"


def _short(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004
