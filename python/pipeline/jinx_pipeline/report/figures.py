"""The totals of each operator over all tasks."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.runlog.ledger import Ledger

_GROUPS: Final = frozenset({"grouper", "aggregator"})


@dataclass(frozen=True, slots=True)
class OperatorTotals:
    """The totals of one operator.

    Attributes:
        place: Its place in the recipe.
        operator: Its name.
        rows_in: Its input rows.
        rows_out: Its output rows.
        bad_rows: Rows on which it failed.
        seconds: Its wall time, summed over all workers.
        cpu_seconds: Its CPU time.
        peak_bytes: The largest memory of a worker right after it ran.
        counts: Other counts, such as samples without a key.
        gpu_seconds: The part of `seconds` in which its workers had a GPU, times their share of it.
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
    gpu_seconds: float = 0.0

    @property
    def details(self) -> list[str]:
        """What else is known of it, readable: the time of GPUs, and its counts."""
        from jinx._cli.progress import natural_seconds

        gpus = [f"{natural_seconds(self.gpu_seconds)} of GPUs"] if self.gpu_seconds else []
        return gpus + [f"{count:,} {name}" for name, count in self.counts.items()]

    def to_dict(self) -> dict[str, Any]:
        """The totals as a plain dict."""
        return asdict(self)


def totals(ledger: Ledger, recipe: Recipe) -> list[OperatorTotals]:
    """The totals of each operator so far, in the order of the recipe."""
    sums: list[dict[str, Any]] = [
        {"rows_in": 0, "rows_out": 0, "bad_rows": 0, "seconds": 0.0, "cpu_seconds": 0.0, "peak_bytes": 0}
        for _ in recipe.steps
    ]
    # Decisions count the rows of the operators that made them, except that an aggregator may read a grouper's groups.
    counted = {decided.place for decided in ledger.decisions() if recipe.steps[decided.place].operator.kind in _GROUPS}
    for receipt in ledger.receipts():
        for figures in receipt.figures:
            operator_sums = sums[figures.number]
            rows = () if figures.number in counted else ("rows_in", "rows_out")
            for name in (*rows, "seconds", "cpu_seconds"):
                operator_sums[name] += getattr(figures, name)
            operator_sums["peak_bytes"] = max(operator_sums["peak_bytes"], figures.peak_bytes)
            if figures.counts:
                operator_sums.setdefault("counts", Counter[str]()).update(figures.counts)
    for decided in ledger.decisions():
        operator_sums = sums[decided.place]
        for name in ("rows_in", "rows_out", "seconds", "cpu_seconds"):
            operator_sums[name] += getattr(decided, name)
        operator_sums.setdefault("counts", Counter[str]()).update(
            {name: count for name, count in decided.counts.items() if count}
        )
    by_place, by_name = _bad_rows(ledger)
    result: list[OperatorTotals] = []
    for place, (step, operator_sums) in enumerate(zip(recipe.steps, sums, strict=True)):
        operator_sums["bad_rows"] = by_place[place] + by_name.pop(step.operator.name, 0)
        if step.operator.kind != "gather":  # rows only pass through this operator
            operator_sums["counts"] = dict(operator_sums.get("counts", {}))
            gpu_seconds = step.resources.gpus * operator_sums["seconds"]
            result.append(OperatorTotals(place, step.operator.name, **operator_sums, gpu_seconds=gpu_seconds))
    return result


def _bad_rows(ledger: Ledger) -> tuple[Counter[int], Counter[str]]:
    """Failed rows by the position of their operator, and by its name if a row killed its worker."""
    by_place, by_name = Counter[int](), Counter[str]()
    for bad in ledger.bad_rows():
        if bad.number < 0:
            by_name[bad.operator] += 1
        else:
            by_place[bad.number] += 1
    return by_place, by_name
