"""How costs grow with the size of a run: a quadratic term shows as a cost of a block that grows with the blocks."""

from dataclasses import dataclass
from typing import Any

# The smaller of the two sizes that are compared has so many times fewer blocks and workers.
SHRUNK = 8


@dataclass(frozen=True, slots=True)
class Bound:
    """A cost, and by how much it may grow from the smaller size to the larger one.

    Attributes:
        cost: What it is.
        path: Where it is in the results of a size.
        most: The bound.
        per: What it is divided by: another entry next to it; None: the whole counts.
    """

    cost: str
    path: tuple[str, ...]
    most: float
    per: str | None = None

    def of(self, results: dict[str, Any]) -> float:
        """The cost at a size."""
        *folders, name = self.path
        for folder in folders:
            results = results[folder]
        return results[name] / (1 if self.per is None else results[self.per])


# Of costs of a block, a linear program has about 1; of whole ones, at most the ratio of the sizes. Larger tables miss
# the caches more often.
BOUNDS = (
    Bound("CPU time of a receipt in the driver", ("drive", "cpu"), 1.7, "receipts"),
    Bound("bytes of the log for a receipt", ("drive", "log_bytes"), 1.1, "receipts"),
    Bound("memory of the driver", ("drive", "memory"), SHRUNK),
    Bound("bytes of a task on its way to a worker", ("drive", "request_bytes"), 1.1),
    Bound("CPU time of a resume for a committed block", ("resume", "cpu"), 1.7, "committed"),
    Bound("memory of a resume", ("resume", "memory"), SHRUNK),
    Bound("CPU time to slice a block after deduplication", ("slices", "dedup", "slice_seconds"), 2.5),
    Bound(
        "CPU time of the same after a shuffle, for a part with its rows",
        ("slices", "shuffle", "slice_seconds"),
        2.5,
        "holding",
    ),
    Bound("parts that a block after deduplication opens", ("slices", "dedup", "opens"), 1.5),
    Bound(
        "parts of the same after a shuffle, for a part with its rows", ("slices", "shuffle", "opens"), 1.1, "holding"
    ),
)


def growths(results: dict[str, Any]) -> list[tuple[Bound, float]]:
    """Every bound, and by how much its cost grows."""
    return [(bound, bound.of(results["large"]) / bound.of(results["small"])) for bound in BOUNDS]


def complaint(results: dict[str, Any]) -> str | None:
    """What grows too fast, in one line; None: nothing does."""
    broken = [
        f"{bound.cost} x{growth:.1f} (bound x{bound.most:g})"
        for bound, growth in growths(results)
        if growth > bound.most
    ]
    if not broken:
        return None
    small, large = results["small"]["blocks"], results["large"]["blocks"]
    return f"grows too fast from {small:,} to {large:,} blocks: {'; '.join(broken)}"
