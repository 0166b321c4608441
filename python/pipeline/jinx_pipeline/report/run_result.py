"""The result of a run, with the rows that were left out and examples of changed and dropped rows."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jinx_pipeline.model.receipt import BadRow
from jinx_pipeline.plan.inputs import Input
from jinx_pipeline.plan.mixture import order_of_groups
from jinx_pipeline.plan.source_rows import SourceRows
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.report.figures import OperatorTotals, totals
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Published
from jinx_pipeline.runlog.work_dir import publish_text
from jinx_pipeline.store.mirror import shown
from jinx_pipeline.store.mirror_store import store_at


@dataclass(frozen=True)
class OutputResult:
    """One output of a run.

    Attributes:
        path: Its path.
        rows: Its samples.
        bytes: Its bytes.
    """

    path: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Attributes:
        path: The output, the first one if there are several.
        rows_in: Samples that were read from the input.
        rows_out: Samples of all outputs.
        bytes: The size of all outputs in bytes.
        seconds: The duration of this run; a resumed run does not count the time before.
        bad_rows: Rows that are not in the output because something failed on them.
        operators: The totals of each operator, including interrupted runs that were resumed.
        work_dir: The directory with the run log and the log of events.
        traces: Examples of changed and dropped rows, if the recipe requests them.
        resumed: Whether work of an earlier run was used.
        max_bad_rows: The option of the recipe.
        outputs: Each output.
        source_rows: The samples that were read from each source node of a graph.
        rows_unreadable: Rows of the input that could not be read, such as damaged lines. They are among `bad_rows`, and
            not among `rows_in`.
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
    outputs: list[OutputResult] = field(default_factory=list[OutputResult])
    source_rows: list[int] = field(default_factory=list[int])
    rows_unreadable: int = 0

    @property
    def ok(self) -> bool:
        """Whether no more rows were left out than the recipe allows."""
        return len(self.bad_rows) <= self.max_bad_rows

    def to_dict(self) -> dict[str, Any]:
        """The result as a plain dict."""
        return {**asdict(self), "ok": self.ok}


def result_of(
    recipe: Recipe, inputs: Sequence[Input], ledger: Ledger, done: Sequence[Published], seconds: float, *, resumed: bool
) -> RunResult:
    """The result of a finished run; the quarantine and the examples are written to its working directory.

    Args:
        recipe: The recipe.
        inputs: Its inputs.
        ledger: The committed work and the decisions.
        done: The records of the outputs.
        seconds: How long the run took.
        resumed: Whether work of an earlier run was used.
    """
    work_dir = ledger.directory.work_dir
    outputs = [
        OutputResult(export.path, record.samples - record.others, record.bytes)
        for export, record in zip(recipe.exports, done, strict=True)
    ]
    rows = SourceRows(inputs)
    unreadable = list(rows.unreadable())
    bad_rows = [*unreadable, *map(rows.named, ledger.bad_rows())]
    write_quarantine(work_dir / "quarantine.jsonl", bad_rows)
    traces = all_traces(ledger, recipe)
    if traces:
        publish_text(work_dir / "trace.jsonl", json_lines(traces))
    return RunResult(
        outputs[0].path,
        done[0].rows,
        sum(output.rows for output in outputs),
        sum(output.bytes for output in outputs),
        seconds,
        bad_rows,
        totals(ledger, recipe),
        shown(work_dir),
        traces,
        resumed=resumed,
        max_bad_rows=recipe.options.max_bad_rows,
        outputs=outputs,
        source_rows=order_of_groups(recipe, [source.rows for source in inputs])[1],
        rows_unreadable=len(unreadable),
    )


def write_quarantine(path: Path, bad_rows: list[BadRow]) -> None:
    """Write the rows that were left out; if there are none, remove the file of an earlier run."""
    if bad_rows:
        publish_text(path, json_lines([asdict(bad) for bad in bad_rows]))
    else:
        store_at(path.parent).delete(path.name)


def json_lines(records: list[dict[str, Any]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def all_traces(ledger: Ledger, recipe: Recipe) -> list[dict[str, Any]]:
    """The first examples of each operator, in the order of the recipe."""
    limit = recipe.options.trace
    if not limit:
        return []
    by_operator: list[list[dict[str, Any]]] = [[] for _ in recipe.steps]

    def keep(trace: dict[str, Any]) -> None:
        traces = by_operator[trace["number"]]
        if len(traces) < limit:
            traces.append(trace)

    for receipt in ledger.receipts():
        for trace in receipt.traces:
            keep(trace)
    for decided in ledger.decisions():
        name, place = recipe.steps[decided.place].operator.name, decided.place
        for a, b in decided.pairs:
            keep({"operator": name, "number": place, "what": "duplicate", "id": a, "of": b})
    return [trace for traces in by_operator for trace in traces]
