"""The reports of workers: receipts of finished tasks, figures of operators, and rows that were left out."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is in no output because an operation on it failed.

    Attributes:
        row: The number of the row in its source, from 0; unreadable rows count too. In the run log, its number among
            the rows that the pipeline reads from all sources.
        operator: The operator that failed, or that ran when the worker died; empty if unknown.
        error: The exception's type and message, or what happened to the worker.
        trace: The end of the traceback.
        source: The source, as the recipe names it; empty in the run log.
        counted: What `row` counts if it is not a row of a source, such as "group".
        number: The place of the operator in the recipe; -1 if unknown.
    """

    row: int
    operator: str
    error: str
    trace: str = field(default="", repr=False)
    source: str = ""
    counted: str = ""
    number: int = -1

    @property
    def place(self) -> str:
        """A readable name of the row."""
        if self.counted:
            return f"{self.counted} {self.row} of the output of the step before"
        return f"{self.source}, row {self.row}" if self.source else f"row {self.row}"


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """The figures of one operator in one task.

    Attributes:
        operator: Its name.
        number: The place of the operator in the recipe.
        rows_in: Its input rows.
        rows_out: Its output rows.
        seconds: Its wall time.
        cpu_seconds: Its CPU time, with all threads of the worker.
        peak_bytes: The largest resident memory of the worker right after it ran.
        counts: What it counted, such as requests.
    """

    operator: str
    number: int
    rows_in: int
    rows_out: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    counts: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class PortPart:
    """The output of a task at a port, or in one lane of a node for branches that come together again.

    Attributes:
        part: The name of the part in `parts/`; None if no rows came out.
        rows: Rows in the part.
        end: See `Receipt`.
        bytes: The size of the part in bytes; 0 if it is not known.
    """

    part: str | None
    rows: int
    end: str | None = None
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The report of a worker on a finished task.

    Attributes:
        part: The name of the part in `parts/` with the rows of the port `out`; None if no rows came out.
        rows_out: Rows in the part.
        bytes_out: The size of the part in bytes.
        seconds: How long the task took.
        bad: Rows that were left out.
        figures: The figures of each operator.
        traces: Examples of changed and dropped rows.
        ports: The output of other ports.
        media: The file in `parts/` with the states of the media files that were read; None if there were none.
        end: A digest of the end of the part, which tells it from other parts; None if it is not known.
        lanes: The output of further lanes at the port `out`, whose rows follow those of `part` in the block; see
            `plan/fusion.py`.
    """

    part: str | None
    rows_out: int
    bytes_out: int = 0
    seconds: float = 0.0
    bad: list[BadRow] = field(default_factory=list[BadRow])
    figures: list[OperatorFigures] = field(default_factory=list[OperatorFigures])
    traces: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ports: dict[str, PortPart] = field(default_factory=dict[str, PortPart])
    media: str | None = None
    end: str | None = None
    lanes: list[PortPart] = field(default_factory=list[PortPart])

    @property
    def rows_by_port(self) -> dict[str, int]:
        """The number of output rows of each port."""
        rows = self.rows_out + sum(lane.rows for lane in self.lanes)
        return {"out": rows, **{port: part.rows for port, part in self.ports.items()}}
