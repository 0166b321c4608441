"""What the requests of a large run cost, in money and time, from those of small runs."""

from dataclasses import dataclass
from typing import Any

# A run of 10 TB in blocks of 64 MB on 200 nodes with 64 workers each.
BLOCKS, NODES, WORKERS = 156_250, 200, 12_800
# Dollars for a request, as the price lists of S3 Standard in us-east-1 state them; removals are free.
_WRITE, _READ = 0.005 / 1000, 0.0004 / 1000
PRICES = {"PUT": _WRITE, "POST": _WRITE, "LIST": _WRITE, "GET": _READ, "HEAD": _READ, "DELETE": 0.0}
KEYS_PER_LIST = 1000
# A lease of another machine counts as left behind after so many seconds without a beat.
LEASE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Requests:
    """How many requests of a kind a run makes.

    Attributes:
        kind: The method, or LIST.
        per_run: Those that do not depend on the size.
        per_block: Those of each further block.
    """

    kind: str
    per_run: float
    per_block: float


def fitted(small: dict[str, Any], large: dict[str, Any]) -> list[Requests]:
    """The requests of a run as a line through two runs of different sizes, each with `blocks` and `requests`."""
    blocks = large["blocks"] - small["blocks"]
    lines: list[Requests] = []
    for kind in sorted({*small["requests"], *large["requests"]}):
        few, many = small["requests"].get(kind, 0), large["requests"].get(kind, 0)
        slope = (many - few) / blocks
        lines.append(Requests(kind, max(0.0, few - slope * small["blocks"]), max(0.0, slope)))
    return lines


def of_large_run(lines: list[Requests]) -> dict[str, float]:
    """The requests of a run of `BLOCKS` blocks by kind; a list answers with a page of `KEYS_PER_LIST` names."""
    totals = {line.kind: line.per_run + line.per_block * BLOCKS for line in lines}
    totals["LIST"] = totals.get("LIST", 0.0) * max(1.0, BLOCKS / KEYS_PER_LIST)
    return totals


def price(totals: dict[str, float]) -> float:
    """Dollars for the requests of a run."""
    return sum(count * PRICES[kind] for kind, count in totals.items())
