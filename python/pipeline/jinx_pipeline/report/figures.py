"""What each operator did, summed over all tasks."""

from dataclasses import asdict, dataclass, field
from typing import Any

from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.runlog.ledger import Ledger


@dataclass(frozen=True, slots=True)
class OperatorTotals:
    """What one operator did.

    Attributes:
        place: Its place in the recipe.
        operator: Its name.
        rows_in: Rows that it was given.
        rows_out: Rows that it passed on.
        bad_rows: Rows on which it failed.
        seconds: Wall time in it, all workers together.
        cpu_seconds: CPU time in it.
        peak_bytes: The largest memory of a worker right after it.
        counts: What else it has to tell, such as samples without a key.
    """

    place: int
    operator: str
    rows_in: int = 0
    rows_out: int = 0
    bad_rows: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dict."""
        return asdict(self)


def totals(ledger: Ledger, recipe: Recipe) -> list[OperatorTotals]:
    """What each operator of a recipe has done so far, in the order of the recipe."""
    sums: list[dict[str, Any]] = [
        {"rows_in": 0, "rows_out": 0, "bad_rows": 0, "seconds": 0.0, "cpu_seconds": 0.0, "peak_bytes": 0}
        for _ in recipe.steps
    ]
    for receipt in ledger.receipts():
        for one in receipt.figures:
            into = sums[one.number]
            for name in ("rows_in", "rows_out", "seconds", "cpu_seconds"):
                into[name] += getattr(one, name)
            into["peak_bytes"] = max(into["peak_bytes"], one.peak_bytes)
    for decided in ledger.decisions():
        into = sums[decided.place]
        for name in ("rows_in", "rows_out", "seconds", "cpu_seconds"):
            into[name] += getattr(decided, name)
        into["counts"] = {name: count for name, count in decided.counts.items() if count}
    by_name: dict[str, int] = {}
    for bad in ledger.bad_rows():
        by_name[bad.operator] = by_name.get(bad.operator, 0) + 1
    found: list[OperatorTotals] = []
    for place, (step, one) in enumerate(zip(recipe.steps, sums, strict=True)):
        one["bad_rows"] = by_name.pop(step.operator.name, 0)
        found.append(OperatorTotals(place, step.operator.name, **one))
    return found
