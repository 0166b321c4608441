"""Which operators the probe runs, what it tells of each, and the batches and workers that follow from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.operator import Operator, Resources
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.operators.script.script_splitter import ScriptSplitter
from jinx_pipeline.plan.stage import may_move, pool_of
from jinx_pipeline.recipe.model import Recipe

# A shorter input has been read before a probe is done.
MIN_ROWS: Final = 2_000
PROBE_ROWS: Final = 256
# After these the samples are others than those of the input.
_ENDS: Final = frozenset({"grouper", "aggregator", "join"})
# Rows of the same input differ: a batch may need so many times what was measured.
_HEADROOM: Final = 2
# Texts that operators have changed in a block, until they are written.
_BLOCK_BYTES: Final = 64_000_000
# Operators that see fewer rows at once lose more time than a worker more would win.
_FEW_ROWS: Final = 8


@dataclass(frozen=True)
class Measured:
    """What the probe has found out about an operator.

    Attributes:
        rows_per_second: How fast one worker is with it.
        row_bytes: Memory that it takes for each row of a batch.
        held_bytes: Memory that it keeps: packages and models.
    """

    rows_per_second: float
    row_bytes: int
    held_bytes: int


@dataclass(frozen=True)
class Findings:
    """What the probe has found out.

    Attributes:
        operators: By the place of the operator in the recipe; those that failed on a row, ended the process or took
            too long lack.
        start_bytes: Memory of a worker that has run nothing yet; 0: nothing was measured.
    """

    operators: Mapping[int, Measured] = field(default_factory=dict[int, Measured])
    start_bytes: int = 0

    def least_bytes(self, pool: Sequence[int]) -> int:
        """Memory that a worker needs: all that its operators hold, and a small batch; 0: nothing was measured.

        Args:
            pool: The places of all operators of its pool.
        """
        return self._needed(pool, pool, _FEW_ROWS) if self.start_bytes else 0

    def batch_rows(self, places: Sequence[int], pool: Sequence[int], most: int, memory: int | None) -> int:
        """How many rows some operators see at once.

        Args:
            places: Of the operators in the recipe.
            pool: The places of all operators of their pool: a worker keeps what those of other stages hold.
            most: How many they take well.
            memory: Bytes that a worker may use; None: no limit.
        """
        rows = most
        while memory is not None and rows >= 2 * _FEW_ROWS and self._needed(places, pool, rows) > memory:
            rows //= 2
        return rows

    def _needed(self, places: Sequence[int], pool: Sequence[int], rows: int) -> int:
        """Bytes of memory of a worker of a pool that runs some of its operators on batches of so many rows."""
        row_bytes = sum(one.row_bytes for place, one in self.operators.items() if place in places)
        held = sum(one.held_bytes for place, one in self.operators.items() if place in pool)
        return self.start_bytes + held + _BLOCK_BYTES + _HEADROOM * rows * row_bytes


def probed_places(recipe: Recipe) -> list[int]:
    """The operators that the probe runs: each sees samples alone, is no code of a script, and has something to do.

    On Ray without a bound for memory only the order of filters follows, so none after the last that could be moved.
    """
    found: list[int] = []
    for place, step in enumerate(recipe.steps):
        if step.operator.kind in _ENDS:
            break
        is_probed = step.operator.kind in FusedOp.LOCAL and not isinstance(step.operator, ScriptSplitter)
        if is_probed and not _is_measured(recipe, step.operator):
            found.append(place)
    options = recipe.options
    is_bounded = options.engine != "ray" or options.memory is not None
    return found if is_bounded else [place for place in found if place <= _last_moving(recipe, found)]


def _last_moving(recipe: Recipe, measured: Sequence[int]) -> int:
    """The place of the last filter next to another one with which the planner may exchange it; -1: there is none."""
    if not recipe.options.reorder:
        return -1
    moving = {place for place in measured if may_move(recipe.steps[place].operator)}
    return max((place for place in moving if place - 1 in moving), default=-1)


def _is_measured(recipe: Recipe, operator: Operator) -> bool:
    """Whether the input has the statistics of a filter, so that it computes nothing."""
    if not isinstance(operator, Filter):
        return False
    return all(recipe.known_stats.get(name) == operator.stats_digest for name in operator.stats)


def findings_from(data: Mapping[str, Any]) -> Findings:
    """Findings from JSON, as `asdict` gives them."""
    operators = {int(place): Measured(**one) for place, one in data["operators"].items()}
    return Findings(operators, data["start_bytes"])


def declared(recipe: Recipe) -> dict[str, Resources]:
    """What a worker of each pool needs, as its operators declare it; a pool without operators is missing."""
    found: dict[str, Resources] = {}
    for step in recipe.steps:
        pool, needs = pool_of(step.operator), step.operator.resources
        most = found.get(pool, needs)
        found[pool] = Resources(max(most.cpus, needs.cpus), max(most.gpus, needs.gpus), max(most.memory, needs.memory))
    return found


def measured_bytes(recipe: Recipe, findings: Findings) -> int:
    """Memory that a worker needs, of whatever pool, as it was measured; 0: nothing was."""
    operators = [step.operator for step in recipe.steps]
    return max(map(findings.least_bytes, places_by_pool(operators).values()), default=0)


def places_by_pool(operators: Sequence[Operator]) -> dict[str, list[int]]:
    """The places of operators by the kind of worker that they need."""
    found: dict[str, list[int]] = {}
    for place, operator in enumerate(operators):
        found.setdefault(pool_of(operator), []).append(place)
    return found
