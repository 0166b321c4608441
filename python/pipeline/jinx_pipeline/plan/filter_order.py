"""The order of filters that commute: fastest first, as long as this changes no result."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from jinx_pipeline.operators.api.batch import STATS
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.plan.stage import may_move
from jinx_pipeline.recipe.model import Recipe


def reordered(recipe: Recipe, chain: Sequence[int], rates: Mapping[int, float]) -> list[int]:
    """The operators of a chain, with the fastest first within each run of filters that commute.

    Args:
        recipe: The recipe.
        chain: The places of the operators.
        rates: The measured rows per second of operators, by place. A run with one that is missing keeps its order.
    """
    if not recipe.options.reorder:
        return list(chain)
    ordered: list[int] = []
    for moves, places in groupby(chain, lambda place: may_move(recipe.steps[place].operator)):
        run = list(places)
        is_known = moves and all(place in rates for place in run)
        ordered += _fastest_first(recipe, run, rates) if is_known else run
    return ordered


def _fastest_first(recipe: Recipe, run: Sequence[int], rates: Mapping[int, float]) -> list[int]:
    """The filters, always choosing the fastest one before which no waiting filter must run."""
    waiting, ordered = list(run), list[int]()
    while waiting:
        free = [
            place
            for at, place in enumerate(waiting)
            if not any(
                _depend(recipe.steps[earlier].operator, recipe.steps[place].operator) for earlier in waiting[:at]
            )
        ]
        fastest = max(free, key=lambda place: rates[place])
        waiting.remove(fastest)
        ordered.append(fastest)
    return ordered


def _depend(first: Operator, second: Operator) -> bool:
    """Whether the order of two filters affects a result: they share a statistic, or one reads the other's."""
    stats, others = _stats_of(first), _stats_of(second)
    return bool(stats & others) or _reads_any(first, others) or _reads_any(second, stats)


def _stats_of(operator: Operator) -> set[str]:
    return set(getattr(operator, "stats", ()))


def _reads_any(operator: Operator, stats: set[str]) -> bool:
    read = {path.removeprefix(STATS) for path in operator.reads if path == STATS or path.startswith(f"{STATS}.")}
    return bool(stats) and ("" in read or any(path.split(".")[1] in stats for path in read))
