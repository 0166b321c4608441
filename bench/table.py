"""The plain table on the terminal: microseconds a sample, and how many times as fast as ref."""

from bench.cases import CASES
from bench.results import Results

_WIDTH = 22
_COLUMNS = 6


def table(results: Results) -> str:
    """A line for each system, a column for each case: `cpu/wall us`, then the ratio to ref on the case's basis."""
    cases, names = results.cases(), results.peers()
    lines = ["us a sample, CPU/wall, and times as fast as ref (by what stands below the case)"]
    for start in range(0, len(cases), _COLUMNS):
        some = cases[start : start + _COLUMNS]
        lines += ["", f"{'':20}" + "".join(f"{case:>{_WIDTH}}" for case in some)]
        lines.append(f"{'':20}" + "".join(f"{'by ' + CASES[case].basis:>{_WIDTH}}" for case in some))
        for name in names:
            cells = [_cell(results, case, name, CASES[case].basis) for case in some]
            if set(cells) != {"-"}:
                lines.append(f"{name:20}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells))
    return "\n".join(lines)


def _cell(results: Results, case: str, peer: str, basis: str) -> str:
    cpu, wall = results.seconds(case, peer, "cpu"), results.seconds(case, peer, "wall")
    if cpu is None or wall is None:
        reason = results.reason(case, peer)
        if results.of(case, peer):
            return "> cap"
        return reason[0] if reason else "-"
    ratio = None if peer == "ref" else results.ratio(case, peer, "ref", basis)
    tail = f" x{_short(ratio)}" if ratio else ""
    return f"{_short(cpu * 1e6)}/{_short(wall * 1e6)}{tail}{'*' if results.capped(case, peer) else ''}"


def _short(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004
