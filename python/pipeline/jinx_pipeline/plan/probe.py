"""The probe in the plan: which operators it runs, its findings, and the batch sizes and workers that follow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.plan.stage import may_move
from jinx_pipeline.recipe.model import Recipe

# With fewer rows, the run would finish before a probe does.
MIN_ROWS: Final = 2_000
PROBE_ROWS: Final = 256
# After operators of these kinds, the samples are no longer those of the input.
_ENDS: Final = frozenset({"grouper", "aggregator", "join"})
# Rows of the same input vary in size: a batch may need this many times the measured memory.
_HEADROOM: Final = 2
# Memory for the texts in a block that operators have changed, which are kept until they are written.
_BLOCK_BYTES: Final = 64_000_000
# With fewer rows per batch, operators lose more time than an additional worker would save.
_FEW_ROWS: Final = 8


@dataclass(frozen=True)
class Measured:
    """The measurements of an operator.

    Attributes:
        rows_per_second: The speed of one worker.
        row_bytes: Memory for each row of a batch.
        held_bytes: Memory that it keeps, for packages and models.
    """

    rows_per_second: float
    row_bytes: int
    held_bytes: int


@dataclass(frozen=True)
class Findings:
    """The results of the probe.

    Attributes:
        operators: The measurements by the place of the operator in the recipe; operators that failed on a row, ended
            the process or took too long are missing.
        start_bytes: Memory of a worker that has run nothing yet; 0: nothing was measured.
    """

    operators: Mapping[int, Measured] = field(default_factory=dict[int, Measured])
    start_bytes: int = 0

    def least_bytes(self, pool: Sequence[int]) -> int:
        """The bytes of memory that a worker needs for what its operators hold and a small batch; 0 if not measured.

        Args:
            pool: The places of all operators of its pool.
        """
        return self._needed(pool, pool, _FEW_ROWS) if self.start_bytes else 0

    def batch_rows(self, places: Sequence[int], pool: Sequence[int], max_rows: int, memory: int | None) -> int:
        """The batch size for some operators.

        Args:
            places: The places of the operators in the recipe.
            pool: The places of all operators of their pool: a worker also keeps the memory of other stages.
            max_rows: The largest useful batch size.
            memory: Bytes that a worker may use; None for no limit.
        """
        rows = max_rows
        while memory is not None and rows >= 2 * _FEW_ROWS and self._needed(places, pool, rows) > memory:
            rows //= 2
        return rows

    def _needed(self, places: Sequence[int], pool: Sequence[int], rows: int) -> int:
        """Bytes of memory that a worker of a pool needs to run some operators with a batch size."""
        row_bytes = sum(measured.row_bytes for place, measured in self.operators.items() if place in places)
        held_bytes = sum(measured.held_bytes for place, measured in self.operators.items() if place in pool)
        return self.start_bytes + held_bytes + _BLOCK_BYTES + _HEADROOM * rows * row_bytes


def probed_places(recipe: Recipe) -> list[int]:
    """The operators to probe: they work on single samples, are not script code, and compute something.

    On Ray without a memory limit, the probe only decides the order of filters, so it ends at the last movable filter.
    """
    probed: list[int] = []
    for place, step in enumerate(recipe.steps):
        if step.operator.kind in _ENDS:
            break
        is_probed = step.operator.kind in FusedOp.LOCAL and step.operator.may_probe
        if is_probed and not _is_measured(recipe, step.operator):
            probed.append(place)
    options = recipe.options
    is_bounded = options.engine != "ray" or options.memory is not None
    return probed if is_bounded else [place for place in probed if place <= _last_moving(recipe, probed)]


def _last_moving(recipe: Recipe, measured: Sequence[int]) -> int:
    """The position of the last filter that the planner may move before another; -1 if there is none."""
    if not recipe.options.reorder:
        return -1
    moving = {place for place in measured if may_move(recipe.steps[place].operator)}
    return max((place for place in moving if place - 1 in moving), default=-1)


def _is_measured(recipe: Recipe, operator: Operator) -> bool:
    """Whether the input has all statistics of a filter, so that the filter computes nothing."""
    if not isinstance(operator, Filter):
        return False
    return all(recipe.known_stats.get(name) == operator.stats_digest for name in operator.stats)


def findings_from(data: Mapping[str, Any]) -> Findings:
    """Findings from the JSON form of what `asdict` returned."""
    operators = {int(place): Measured(**fields) for place, fields in data["operators"].items()}
    return Findings(operators, data["start_bytes"])


def pools_of(recipe: Recipe) -> dict[str, Resources]:
    """The resources of a worker in each pool; the first pool is for work that belongs to no operator."""
    resources = [Resources(), *(step.resources for step in recipe.steps)]
    return {needs.pool: needs for needs in resources}


def measured_bytes(recipe: Recipe, findings: Findings) -> dict[str, int]:
    """The measured memory that a worker of each pool needs; pools that were not measured are missing."""
    needed = {pool: findings.least_bytes(places) for pool, places in places_by_pool(recipe).items()}
    return {pool: size for pool, size in needed.items() if size}


def places_by_pool(recipe: Recipe) -> dict[str, list[int]]:
    """The positions of operators, by pool."""
    places: dict[str, list[int]] = {}
    for place, step in enumerate(recipe.steps):
        places.setdefault(step.resources.pool, []).append(place)
    return places
