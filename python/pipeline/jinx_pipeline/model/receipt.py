"""What workers report: finished tasks, what operators did in them, and rows that were left out."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is in no output because something failed on it.

    Attributes:
        row: Its number in its source, from 0, where rows that cannot be read count, too; in the run log the number in
            what the pipeline reads of all sources together.
        operator: Which operator failed, or was running when the worker died; empty if that is not known.
        error: The exception's type and message, or what happened to the worker.
        trace: The last lines of the traceback.
        source: The source, as the recipe names it; empty in the run log.
        counted: What `row` counts where it is no row of a source, such as "group".
    """

    row: int
    operator: str
    error: str
    trace: str = field(default="", repr=False)
    source: str = ""
    counted: str = ""

    @property
    def place(self) -> str:
        """Which row it is, for people."""
        if self.counted:
            return f"{self.counted} {self.row} of what the step before has made"
        return f"{self.source}, row {self.row}" if self.source else f"row {self.row}"


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """What one operator did in one task.

    Attributes:
        operator: Its name.
        number: Its place in the recipe.
        rows_in: Rows it was given.
        rows_out: Rows it passed on.
        seconds: Wall time in it.
        cpu_seconds: CPU time of the worker in it, all threads.
        peak_bytes: The largest resident memory of the worker seen after it.
    """

    operator: str
    number: int
    rows_in: int
    rows_out: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class PortPart:
    """What a task has put out of a port.

    Attributes:
        part: Name of the part in `parts/`; None where no row came out.
        rows: Rows in it.
    """

    part: str | None
    rows: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a worker reports of a finished task.

    Attributes:
        part: Name of the part in `parts/` of what goes out of the port `out`; None where no row came out.
        rows_out: Rows in it.
        bytes_out: Bytes of it.
        seconds: How long it took.
        bad: Rows that were left out.
        figures: What each operator did.
        traces: Before-and-after pairs and dropped rows, for the tracer.
        ports: What goes out of other ports.
    """

    part: str | None
    rows_out: int
    bytes_out: int = 0
    seconds: float = 0.0
    bad: list[BadRow] = field(default_factory=list[BadRow])
    figures: list[OperatorFigures] = field(default_factory=list[OperatorFigures])
    traces: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ports: dict[str, PortPart] = field(default_factory=dict[str, PortPart])

    @property
    def rows_by_port(self) -> dict[str, int]:
        """The rows that went out of each port."""
        return {"out": self.rows_out, **{port: part.rows for port, part in self.ports.items()}}
