"""What a run tells when it ends: its result, the rows that were left out, examples of what operators did."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jinx_pipeline.model.receipt import BadRow
from jinx_pipeline.plan.inputs import Input
from jinx_pipeline.plan.source_rows import SourceRows
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.report.figures import OperatorTotals, totals
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Published
from jinx_pipeline.runlog.work_dir import publish_text


@dataclass(frozen=True)
class RunResult:
    """What a run did.

    Attributes:
        path: The output.
        rows_in: Samples of the input.
        rows_out: Samples of the output.
        bytes: Of the output.
        seconds: Of this run; a resumed one does not count what was done before.
        bad_rows: Rows that are not in the output because something failed on them.
        operators: What each operator did, over all runs of the plan.
        work_dir: Where the run log and the log of events are.
        traces: Examples of what operators changed and dropped, if the recipe asks for them.
        resumed: Whether work of an earlier run was used.
        max_bad_rows: As the recipe has it.
    """

    path: str
    rows_in: int
    rows_out: int
    bytes: int
    seconds: float
    bad_rows: list[BadRow]
    operators: list[OperatorTotals]
    work_dir: str
    traces: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    resumed: bool = False
    max_bad_rows: int = 0

    @property
    def ok(self) -> bool:
        """Whether no more rows were left out than the recipe allows."""
        return len(self.bad_rows) <= self.max_bad_rows

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dict."""
        return {**asdict(self), "ok": self.ok}


def result_of(
    recipe: Recipe, inputs: Sequence[Input], ledger: Ledger, done: Published, seconds: float, *, resumed: bool
) -> RunResult:
    """The result of a run that has ended; what people look at is written to its working directory.

    Args:
        recipe: What was done.
        inputs: On what.
        ledger: What is committed and decided.
        done: The output.
        seconds: How long it took.
        resumed: Whether work of an earlier run was used.
    """
    export, work_dir = recipe.export, ledger.directory.work_dir
    rows = SourceRows(inputs)
    bad_rows = [*rows.unreadable(), *map(rows.named, ledger.bad_rows())]
    write_quarantine(work_dir / "quarantine.jsonl", bad_rows)
    traces = all_traces(ledger, recipe)
    if traces:
        publish_text(work_dir / "trace.jsonl", json_lines(traces))
    return RunResult(
        "" if export is None else export.path,
        done.rows,
        done.samples,
        done.bytes,
        seconds,
        bad_rows,
        totals(ledger, recipe),
        str(work_dir),
        traces,
        resumed=resumed,
        max_bad_rows=recipe.options.max_bad_rows,
    )


def write_quarantine(path: Path, bad_rows: list[BadRow]) -> None:
    """Write the rows that were left out; without any, remove the file of an earlier run."""
    if bad_rows:
        publish_text(path, json_lines([asdict(one) for one in bad_rows]))
    else:
        path.unlink(missing_ok=True)


def json_lines(records: list[dict[str, Any]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records)


def all_traces(ledger: Ledger, recipe: Recipe) -> list[dict[str, Any]]:
    """The first examples of each operator, in the order of the recipe."""
    limit = recipe.options.trace
    if not limit:
        return []
    kept: list[list[dict[str, Any]]] = [[] for _ in recipe.steps]

    def keep(trace: dict[str, Any]) -> None:
        of_operator = kept[trace["number"]]
        if len(of_operator) < limit:
            of_operator.append(trace)

    for receipt in ledger.receipts():
        for trace in receipt.traces:
            keep(trace)
    for decided in ledger.decisions():
        name, place = recipe.steps[decided.place].operator.name, decided.place
        for a, b in decided.pairs:
            keep({"operator": name, "number": place, "what": "duplicate", "id": a, "of": b})
    return [trace for of_operator in kept for trace in of_operator]
