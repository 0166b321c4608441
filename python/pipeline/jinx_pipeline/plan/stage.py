"""A stage of the plan: operators that run one after another, and what becomes of the rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.sample.roles import Roles


@dataclass(frozen=True)
class Stage:
    """Operators that run one after another on the rows of a task, and what becomes of the rows.

    Attributes:
        operators: In the order in which they run.
        numbers: The place of each in the recipe.
        roles: Where texts and media are.
        output: `"view"`: positions and changed columns; `"rows"`: the samples themselves.
        writer: Keywords for `jinx.Writer`, with output `"rows"`.
        batch_rows: Rows that operators see at once.
        group: With a source of groups: makes the samples of one group, before the operators run.
        signatures: A deduplicator whose signatures of the remaining rows go next to the part.
        partitions: Into how many partitions the keys are written that are such signatures.
        ports: The ports besides `out` whose rows are written: `dropped`, `failed`.
        keep_stats: Whether statistics become a column of the output.
        is_open: Whether an operator before them may have added columns to some rows alone; see `Batch.is_open`.
        stat_order: All statistics of the recipe; a sample has them in this order, whatever filter ran first.
        measure_only: Filters add their statistics and drop nothing.
        known_stats: Statistics in the input by name, with the digest of the filter that computed them.
        pool: The pool of the workers that run it.
        has_time_limit: Whether `row_seconds` is for its operators: how long one takes whose model is on a GPU or in
            memory, only its author knows.
        seed: Of the run.
        threads: Of one worker.
        trace: How many changed and dropped rows to keep of each operator in one task, for people to look at.
        media_dir: Where operators put media files that they make; None: in the samples.
        answers_dir: Where the answers of models behind URLs are kept.
    """

    operators: list[Operator]
    numbers: list[int]
    roles: Roles
    output: Literal["view", "rows"]
    writer: Mapping[str, Any] = field(default_factory=dict[str, Any])
    batch_rows: int = 1000
    group: Operator | None = None
    signatures: Operator | None = None
    partitions: int = 1
    ports: tuple[str, ...] = ()
    keep_stats: bool = True
    is_open: bool = False
    stat_order: tuple[str, ...] = ()
    measure_only: bool = False
    known_stats: Mapping[str, str] = field(default_factory=dict[str, str])
    pool: str = "cpu"
    has_time_limit: bool = True
    seed: int = 0
    threads: int = 1
    trace: int = 0
    media_dir: str | None = None
    answers_dir: str | None = None


def opens(operator: Operator) -> bool:
    """Whether an operator may add columns to some samples alone; see `Batch.is_open`."""
    if operator.kind == "mapper":
        return not operator.writes
    if operator.kind == "aggregator":
        return getattr(operator, "columns_made", None) is None
    return operator.kind in {"splitter", "grouper"} or any(map(opens, getattr(operator, "operators", ())))


def may_move(operator: Operator) -> bool:
    """Whether the planner may change its place among others that may move, by their speed."""
    return operator.commutes and not operator.depends_on_batch
