"""A stage of the plan: consecutive operators, and how their output is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.plan.graph import Lane
from jinx_pipeline.sample.roles import Roles


@dataclass(frozen=True)
class Stage:
    """Consecutive operators that run on the rows of a task, and how their output is written.

    Attributes:
        operators: The operators, in the order in which they run.
        numbers: The place of each in the recipe.
        lanes: The operators along each path through branches, as indices into `operators`; see `plan/fusion.py`. Empty
            for one path with all operators.
        roles: The columns of texts and media.
        output: `"view"`: positions and changed columns; `"rows"`: the samples themselves.
        writer: Keywords for `jinx.Writer`, with output `"rows"`.
        batch_rows: Rows that operators see at once.
        group: For a source of groups: the operator that makes the samples of a group, before the other operators run.
        group_number: The place of this operator in the recipe.
        signatures: An operator over keys; its keys of the remaining rows are written next to the part.
        partitions: The number of partitions of these keys.
        ports: The ports besides `out` whose rows are written: `dropped`, `failed`.
        keep_stats: Whether statistics become a column of the output.
        is_open: Whether an earlier operator may have added columns to only some rows; see `Batch.is_open`.
        stat_order: All statistics of the recipe; a sample has them in this order, regardless of the order of the
            filters.
        measure_only: Filters add their statistics and drop nothing.
        known_stats: Statistics in the input by name, with the digest of the filter that computed them.
        pool: The pool of the workers that run it.
        has_time_limit: Whether `row_seconds` applies: not to operators with models on a GPU or in memory, because only
            their author knows how long they take.
        seed: The seed of the run.
        threads: Threads of one worker.
        trace: How many examples of changed and dropped rows to keep for each operator in one task.
        files: The small files that the operators read, with the digests of their contents.
        media_dir: The directory for media files that operators make; None to store them in the samples.
        answers_dir: The directory for answers of models behind URLs.
    """

    operators: list[Operator]
    numbers: list[int]
    roles: Roles
    output: Literal["view", "rows"]
    lanes: tuple[Lane, ...] = ()
    writer: Mapping[str, Any] = field(default_factory=dict[str, Any])
    batch_rows: int = 1000
    group: Operator | None = None
    group_number: int = -1
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
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    media_dir: str | None = None
    answers_dir: str | None = None

    @property
    def paths(self) -> tuple[Lane, ...]:
        """The lanes; without branches, one with all operators."""
        return self.lanes or (tuple(range(len(self.operators))),)

    def of_lane(self, lane: int) -> "Stage":
        """The stage with the operators of a single lane."""
        if not self.lanes:
            return self
        places = self.lanes[lane]
        operators, numbers = [self.operators[place] for place in places], [self.numbers[place] for place in places]
        return replace(self, operators=operators, numbers=numbers, lanes=())


def opens(operator: Operator) -> bool:
    """Whether an operator may add columns to only some samples; see `Batch.is_open`."""
    if operator.kind == "mapper":
        return not operator.writes
    if operator.kind == "aggregator":
        return getattr(operator, "columns_made", None) is None
    return operator.kind in {"splitter", "grouper"} or any(map(opens, getattr(operator, "operators", ())))


def may_move(operator: Operator) -> bool:
    """Whether the planner may reorder an operator, by speed, among others that may move."""
    return operator.commutes and not operator.depends_on_batch
