"""The options of a plan. With the sizes of the samples, they determine it."""

from dataclasses import dataclass, field
from typing import Literal

from jinx._results import Result
from jinx.errors import InvalidError

Strategy = Literal["next_fit", "first_fit_decreasing", "best_fit_decreasing", "knapsack"]
Oversize = Literal["drop", "error", "truncate"]
STRATEGIES = ("next_fit", "first_fit_decreasing", "best_fit_decreasing", "knapsack")
OVERSIZE = ("drop", "error", "truncate")
_SEEDS = 2**64
# Sizes are 32-bit. The largest value stands for all larger sizes, and no budget reaches it.
MAX_BUDGET = 2**32 - 2
_MAX_WINDOW = 2**24


@dataclass(frozen=True, slots=True)
class PackConfig(Result):
    """How samples are packed.

    Attributes:
        budgets: The limit of each size in a pack, `num_tokens` first.
        strategy: How a window is packed.
        window: The number of samples that are packed together.
        oversize: What to do with a sample over a budget.
        seed: The seed of the order; None keeps the order of the samples.
        epoch: The number of the epoch, which selects one of the orders of the seed.
        weights: How many times an epoch shows each source; None: once.
        least: The minimum of each size in a pack; packs with less are left out.
    """

    budgets: dict[str, int]
    strategy: Strategy = "knapsack"
    window: int = 16384
    oversize: Oversize = "drop"
    seed: int | None = 0
    epoch: int = 0
    weights: tuple[float, ...] | None = field(default=None)
    least: dict[str, int] = field(default_factory=dict[str, int])

    def check(self, sources: int) -> None:
        """Refuse values that no plan can have.

        Args:
            sources: The number of sources.

        Raises:
            InvalidError: An option has an invalid value.
        """
        from jinx._suggest import hint

        for name, value, allowed in (("strategy", self.strategy, STRATEGIES), ("oversize", self.oversize, OVERSIZE)):
            if value not in allowed:
                raise InvalidError(
                    f"{name}={value!r} is not known{hint(str(value), allowed)}; use one of {', '.join(allowed)}"
                )
        for name, budget in self.budgets.items():
            if not 1 <= budget <= MAX_BUDGET:
                raise InvalidError(f"a budget of {budget} for {name} is not between 1 and {MAX_BUDGET}")
        if not 1 <= self.window <= _MAX_WINDOW:
            raise InvalidError(f"window={self.window} is not between 1 and {_MAX_WINDOW}")
        for name, number in (("seed", self.seed or 0), ("epoch", self.epoch)):
            if not 0 <= number < _SEEDS:
                raise InvalidError(f"{name}={number} is not between 0 and 2**64 - 1")
        if self.weights is not None:
            _check_weights(self.weights, sources)


def _check_weights(weights: tuple[float, ...], sources: int) -> None:
    if len(weights) != sources:
        raise InvalidError(f"there are {len(weights)} weights for {sources} sources; each needs one")
    for weight in weights:
        if not 0 <= weight < float("inf"):
            raise InvalidError(f"a weight of {weight} is not a number of 0 or more")
