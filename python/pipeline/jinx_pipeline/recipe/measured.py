"""Which statistics remain after measuring: a later filter replaces those with the same name."""

from collections.abc import Iterable, Iterator, Sequence

from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import GLOBAL_KINDS, FusedOp
from jinx_pipeline.recipe.model import Step


def measured_steps(steps: Iterable[Step]) -> list[Step]:
    """The steps up to the first operator that makes new samples or looks at all samples."""
    measured: list[Step] = []
    for step in steps:
        if step.operator.kind in GLOBAL_KINDS or step.operator.kind == "splitter":
            break
        measured.append(step)
    return measured


def lasting_filters(steps: Sequence[Step]) -> list[tuple[Filter, bool]]:
    """The filters whose statistics are in the output, and for each whether they describe the unchanged input.

    A filter is missing if a later one has a statistic of the same name, of other parameters or of changed samples.

    Args:
        steps: The measured steps.
    """
    last: dict[str, tuple[int, str]] = {}
    filters: list[tuple[Filter, tuple[int, str]]] = []
    changes = 0
    for operator in _flat(step.operator for step in steps):
        if isinstance(operator, Filter):
            origin = changes, operator.stats_digest
            filters.append((operator, origin))
            last |= dict.fromkeys(operator.stats, origin)
        else:
            changes += 1
    return [
        (operator, origin[0] == 0)
        for operator, origin in filters
        if all(last[name] == origin for name in operator.stats)
    ]


def _flat(operators: Iterable[Operator]) -> Iterator[Operator]:
    for operator in operators:
        if isinstance(operator, FusedOp):
            yield from _flat(operator.operators)
        else:
            yield operator
