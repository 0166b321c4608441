"""The columns where branches come together: a column that one branch adds is missing in the rows of the others."""

from jinx_pipeline.operators.api.batch import REMOVED, STATS, Batch
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.plan.graph import Lane
from jinx_pipeline.plan.stage import Stage, opens


class MergedColumns:
    """Makes the columns of other lanes known to the operators that run for several lanes.

    To an operator after branches, a column that only another branch adds is missing, not unknown.

    Args:
        stage: The stage.
    """

    def __init__(self, stage: Stage) -> None:
        # For each operator that runs more than once, and -1 for the ends of the lanes: the columns that operators
        # before it may add, and whether one of these may add any column.
        self._known: dict[int, tuple[list[str], bool]] = {}
        if len(stage.lanes) > 1:
            for place in (-1, *range(len(stage.operators))):
                paths = {_before(lane, place) for lane in stage.lanes if place < 0 or place in lane}
                if len(paths) > 1:
                    before = [stage.operators[number] for number in {number for path in paths for number in path}]
                    names = {name for operator in before for name in _added(operator, stage)}
                    self._known[place] = sorted(names), any(map(opens, before))

    def padded(self, place: int, batch: Batch) -> Batch:
        """The batch for an operator, with the columns of other lanes as missing.

        Args:
            place: The index of the operator; -1 at the end of a lane.
            batch: The rows of one lane.
        """
        if place not in self._known:
            return batch
        names, is_open = self._known[place]
        known = {*batch.column_names, *batch.changed, *([STATS] if batch.stats else [])}
        missing = {name: [REMOVED] * len(batch) for name in names if name not in known}
        padded = batch.with_columns(missing)
        return padded.opened() if is_open and not batch.is_open else padded


def _before(lane: Lane, place: int) -> Lane:
    """The operators of a lane before one of them; -1: all."""
    return lane if place < 0 else lane[: lane.index(place)]


def _added(operator: Operator, stage: Stage) -> list[str]:
    """The columns that an operator may add."""
    if isinstance(operator, FusedOp):
        return [name for part in operator.operators for name in _added(part, stage)]
    return [STATS] if isinstance(operator, Filter) else [stage.roles.column(name) for name in operator.writes]
