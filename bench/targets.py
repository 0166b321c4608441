"""The targets of targets.json, compared with what was measured."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cases import CASES
from bench.results import Results

PATH = Path(__file__).parent / "targets.json"
_NOT_MEASURED = ("not measured", None)
_OURS = ("jinx", "ours", "ref", "cp")


@dataclass(frozen=True)
class Outcome:
    """One target: `result` is what was measured for each check, `met` is None when something was not measured."""

    operation: str
    target: str
    result: str
    met: bool | None


def outcomes(results: Results) -> list[Outcome]:
    """Every target in the order of the file."""
    found = []
    for target in json.loads(PATH.read_text()):
        checked = [_check(results, check) for check in target["checks"]]
        met = None if any(verdict[1] is None for verdict in checked) else all(verdict[1] for verdict in checked)
        found.append(Outcome(target["operation"], target["target"], "; ".join(verdict[0] for verdict in checked), met))
    return found


def best_peer(results: Results, case: str, basis: str) -> str | None:
    """The fastest system that is neither JINX nor ref and finished."""
    speeds = {
        peer: seconds
        for peer in results.peers()
        if not peer.startswith(_OURS) and not results.capped(case, peer)
        if (seconds := results.seconds(case, peer, basis)) is not None
    }
    return min(speeds, key=speeds.__getitem__) if speeds else None


def _check(results: Results, check: dict[str, Any]) -> tuple[str, bool | None]:
    peer = check.get("peer", "jinx")
    if "megabytes" in check:
        return _memory(results, peer, check["megabytes"])
    if "bytes_against" in check:
        return _bytes(results, check, peer)
    basis = check.get("basis", CASES[check["case"]].basis)
    seconds = results.seconds(check["case"], peer, basis)
    if seconds is None:
        return _NOT_MEASURED
    if "milliseconds" in check:
        return f"{check['case']} {seconds * 1e3:.3g} ms", seconds * 1e3 <= check["milliseconds"]
    return _limit(results, check, seconds) if "limit" in check else _ratio(results, check, peer, basis)


def _ratio(results: Results, check: dict[str, Any], peer: str, basis: str) -> tuple[str, bool | None]:
    case, against = check["case"], check["against"]
    other = best_peer(results, case, basis) if against == "best" else against
    ratio = results.ratio(case, peer, other, basis) if other else None
    if ratio is None:
        return _NOT_MEASURED
    name = f"the best peer ({other})" if against == "best" else other
    prefix = "" if peer == "jinx" else f"{peer}: "
    return f"{prefix}{ratio:.3g}x {name}", ratio >= check["at_least"]


def _memory(results: Results, peer: str, megabytes: float) -> tuple[str, bool | None]:
    """The highest over all cases that read in this process."""
    peaks = {
        case: peak
        for case in results.cases()
        if CASES[case].kind == "read" and "loader" not in case
        if (peak := results.figure(case, peer, "private_peak")) is not None
    }
    if not peaks:
        return _NOT_MEASURED
    worst = max(peaks, key=peaks.__getitem__)
    return f"{peaks[worst] / 1e6:.3g} MB at most ({worst})", peaks[worst] <= megabytes * 1e6


def _bytes(results: Results, check: dict[str, Any], peer: str) -> tuple[str, bool | None]:
    case, against = check["case"], check["bytes_against"]
    sizes = {
        other: size
        for other in results.peers()
        if not other.startswith(_OURS) and (case != "write" or "zstd" not in other)
        if (size := results.figure(case, other, "bytes")) is not None
    }
    ours = results.figure(case, peer, "bytes")
    if ours is None or not sizes or (against != "best" and against not in sizes):
        return _NOT_MEASURED
    other = min(sizes, key=sizes.__getitem__) if against == "best" else against
    ratio = ours / sizes[other]
    return f"{ratio:.4f}x {other}", ratio <= check["at_most"]


def _limit(results: Results, check: dict[str, Any], seconds: float) -> tuple[str, bool | None]:
    """The share of what all cores do at once."""
    limits = results.about.get("limits", {})
    if check["limit"] not in limits:
        return _NOT_MEASURED
    limit = limits[check["limit"]]
    if check["limit"].endswith("_gb_s"):
        limit = results.about["data"][CASES[check["case"]].data]["image_bytes"] / limit / 1e9 * 1e6
    share = limit / 1e6 / seconds
    text = f"{check['case']}: {share:.2f} of the limit on {results.about['machine']['cores']} cores"
    return text, share >= check["at_least"]
