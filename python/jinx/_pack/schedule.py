"""The schedule of a plan: which packs each rank trains on. All ranks compute it without communication.

The packs of an epoch have one global order. Each micro-step takes a slice of the order, and each rank a part of the
slice. Balancing only changes the order inside windows of 64 optimiser steps: packs are sorted by cost, packs of similar
cost form the groups of micro-steps, and the groups are shuffled. So finding the packs of any step takes sorting one
window.
"""

import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinx import _core
from jinx._arguments import require_type
from jinx._pack.sizes import IMAGES, PATCHES, TOKENS
from jinx._suggest import hint
from jinx.errors import InvalidError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from jinx._pack.packs import Packs

Balance = str | Mapping[str, float] | None
FILLER = -1
# The number of optimiser steps whose packs are sorted together: enough to equalise costs, and few enough to mix the
# epoch.
_STEPS = 64
_KEPT_WINDOWS = 2
# The maximum number of packs in a window, larger than any useful number of ranks and micro-steps.
_LARGEST_WINDOW = 2**40


@dataclass(frozen=True)
class _Layout:
    """The layout of the global order, starting at one pack."""

    start: int
    group: int
    window: int
    factors: tuple[tuple[str, float], ...]

    def window_of(self, place: int) -> int:
        """The start of the window that contains a place."""
        return place - (place - self.start) % self.window


class PackSchedule:
    """The packs that one rank trains on. `PackPlan.schedule` returns a schedule.

    `len(schedule)` is the number of micro-steps, the same on every rank. `schedule[m]` are the packs of this rank in
    micro-step `m`: int64 of shape (batch_size,), where -1 is an empty filler pack.
    """

    def __init__(
        self,
        plan: "Packs",
        *,
        world_size: int,
        rank: int,
        batch_size: int,
        accumulation: int,
        balance: Balance,
        drop_last: bool,
        resume: Mapping[str, Any] | None,
    ) -> None:
        self.world_size = _at_least_one(world_size, "world_size")
        self.rank = operator.index(rank)
        self.batch_size = _at_least_one(batch_size, "batch_size")
        self.accumulation = _at_least_one(accumulation, "accumulation")
        self.drop_last = drop_last
        if not 0 <= self.rank < self.world_size:
            raise InvalidError(f"rank {rank} of {world_size} does not exist; ranks count from 0")
        self._plan = plan
        self._factors = _factors(plan, balance)
        self._group = self.world_size * self.batch_size
        self._windows: dict[tuple[_Layout, int], Any] = {}
        window = self._group * self.accumulation * _STEPS
        self._consumed = 0
        # A resumed epoch completes its current window in the old layout; this is where that window ends.
        self._pending: tuple[int, _Layout] | None = None
        self._own = _Layout(0, self._group, window, self._factors)
        if resume is not None:
            self._resume(resume)
        per_step = self._group * self.accumulation
        left = len(plan) - self._consumed
        self.steps: int = left // per_step if drop_last else -(-left // per_step)
        """Optimiser steps."""

    def _resume(self, state: Mapping[str, Any]) -> None:
        saved = required_state(state)
        self._plan.require(saved["plan"])
        consumed, start, group, window = (saved[name] for name in _STATE)
        factors = tuple((name, float(factor)) for name, factor in saved["balance"].items())
        # A window consists of groups; the next window begins at most a window and a group after the packs consumed.
        is_possible = (
            0 <= consumed <= len(self._plan)
            and 1 <= group <= window <= _LARGEST_WINDOW
            and window % (group * _STEPS) == 0
            and 0 <= start <= len(self._plan) + window + group
        )
        if not is_possible:
            numbers = {name: saved[name] for name in _STATE}
            raise InvalidError(f"this is not a state of a schedule of {len(self._plan)} packs: {numbers}")
        _require_sizes(self._plan, factors)
        self._consumed = consumed
        old = _Layout(start, group, window, factors)
        if (group, window, factors) == (self._own.group, self._own.window, self._factors):
            self._own = old
            return
        end = max(start, consumed)
        if consumed > start and consumed != old.window_of(consumed):
            end = old.window_of(consumed) + window
            self._pending = (end, old)
        # Groups begin at the start of micro-steps, so up to one micro-step of packs before them keeps the order of the
        # plan.
        groups = -(-(end - consumed) // self._group)
        self._own = _Layout(consumed + groups * self._group, self._group, self._own.window, self._factors)

    def __len__(self) -> int:
        return self.steps * self.accumulation

    def __getitem__(self, micro_step: int) -> "npt.NDArray[np.int64]":
        import numpy as np

        if not -len(self) <= micro_step < len(self):
            raise IndexError(f"micro-step {micro_step} is out of range for {len(self)} micro-steps")
        first = self._first_place(micro_step % len(self))
        return np.array([self._pack(place) for place in range(first, first + self.batch_size)], dtype=np.int64)

    def _first_place(self, micro_step: int) -> int:
        """The place, in the order of the whole epoch, where the packs of this rank begin in a micro-step."""
        return self._consumed + micro_step * self._group + self.rank * self.batch_size

    def step_packs(self, step: int) -> "npt.NDArray[np.int64]":
        """The packs of all ranks in all micro-steps of an optimiser step: int64, where -1 is a filler pack."""
        import numpy as np

        if not 0 <= step < self.steps:
            raise IndexError(f"step {step} is out of range for {self.steps} steps")
        per_step = self._group * self.accumulation
        first = self._consumed + step * per_step
        return np.array([self._pack(place) for place in range(first, first + per_step)], dtype=np.int64)

    def __iter__(self) -> "Iterator[npt.NDArray[np.int64]]":
        return (self[micro_step] for micro_step in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"PackSchedule({self.steps:,} steps of {self.accumulation} x {self.world_size} x {self.batch_size} packs, "
            f"rank {self.rank})"
        )

    @property
    def balance(self) -> dict[str, float]:
        """The sizes that make up the cost of a pack, and their factors; empty if packs are not balanced."""
        return dict(self._factors)

    def state(self, micro_steps: int) -> dict[str, Any]:
        """The position in the schedule, for JSON: a few integers, `balance`, and the identity of the plan.

        The state is the same on each rank. A schedule of the same plan under any world size, batch size and
        accumulation continues from there.

        Args:
            micro_steps: The number of micro-steps of this schedule that were trained on.
        """
        if not 0 <= micro_steps <= len(self):
            raise InvalidError(f"{micro_steps} micro-steps are not between 0 and {len(self)}")
        consumed = min(self._consumed + micro_steps * self._group, len(self._plan))
        layout = self._own
        if self._pending is not None and consumed < self._pending[0]:
            layout = self._pending[1]
        numbers = (consumed, layout.start, layout.group, layout.window)
        state = dict(zip(_STATE, numbers, strict=True))
        return {**state, "balance": dict(layout.factors), "plan": self._plan.identity}

    def _pack(self, place: int) -> int:
        """The pack at a place of the global order."""
        if place >= len(self._plan):
            return FILLER
        if self._pending is not None and place < self._pending[0]:
            return self._in_window(self._pending[1], place)
        return self._in_window(self._own, place) if place >= self._own.start else place

    def _in_window(self, layout: _Layout, place: int) -> int:
        if not layout.factors:
            return place
        begin = layout.window_of(place)
        key = (layout, begin)
        if key not in self._windows:
            while len(self._windows) >= _KEPT_WINDOWS:
                self._windows.pop(next(iter(self._windows)))
            self._windows[key] = self._order(layout, begin)
        return int(self._windows[key][place - begin])

    def _order(self, layout: _Layout, begin: int) -> "npt.NDArray[np.int64]":
        """The packs of a window: equal costs in groups, the groups shuffled, an incomplete group last."""
        import numpy as np

        end = min(begin + layout.window, len(self._plan))
        by_cost = begin + np.argsort(-_costs(self._plan, layout.factors, begin, end), kind="stable")
        groups = len(by_cost) // layout.group
        whole = by_cost[: groups * layout.group].reshape(groups, layout.group)
        order = np.array(_core.step_order(groups, self._plan.seed or 0, self._plan.epoch, begin), dtype=np.int64)
        return np.concatenate([whole[order].reshape(-1), by_cost[groups * layout.group :]])

    def step_costs(self, cost: str | None = None) -> "npt.NDArray[np.float64]":
        """The cost of each rank in each micro-step: float64 of shape (len(schedule), world_size). Filler packs cost 0.

        Args:
            cost: A name in `sizes`, or `"num_tokens^2"`; by default the cost in `balance`, else the tokens.
        """
        import numpy as np

        factors = self._factors or ((TOKENS, 1.0),) if cost is None else ((cost, 1.0),)
        _require_sizes(self._plan, factors)
        count = min(len(self) * self._group, len(self._plan) - self._consumed)
        order = [self._pack(place) for place in range(self._consumed, self._consumed + count)]
        costs = np.zeros(len(self) * self._group)
        costs[:count] = _costs(self._plan, factors, 0, len(self._plan))[order]
        return costs.reshape(len(self), self.world_size, self.batch_size).sum(axis=2)

    def imbalance(self, cost: str | None = None) -> float:
        """The slowest rank's cost divided by the mean of all ranks, averaged over the micro-steps that have a cost.

        Args:
            cost: As for `step_costs`.
        """
        steps = self.step_costs(cost)
        steps = steps[steps.any(axis=1)]
        return float((steps.max(axis=1) / steps.mean(axis=1)).mean()) if len(steps) else 1.0


_STATE = ("packs_consumed", "order_start", "order_group", "order_window")
_MEMBERS = {*_STATE, "balance", "plan"}


def required_state(state: Any) -> dict[str, Any]:
    """Check that a value is a state that `PackSchedule.state` returned.

    Raises:
        InvalidError: Members are missing, unknown or of another type.
    """
    saved: dict[str, Any] = {**state} if isinstance(state, Mapping) else {}
    if set(saved) != _MEMBERS:
        odd = sorted(map(str, set(saved) ^ _MEMBERS))
        raise InvalidError(f"this is not the state of a schedule, which has {', '.join(sorted(_MEMBERS))}: {odd[0]}")
    for name in _STATE:
        if type(saved[name]) is not int:
            raise InvalidError(f"this is not the state of a schedule: {name} is {saved[name]!r}, not an integer")
    balance, plan = saved["balance"], saved["plan"]
    if not isinstance(balance, Mapping) or not all(_is_factor(*factor) for factor in balance.items()):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        raise InvalidError(
            "this is not the state of a schedule: balance is not a dict of names and numbers of 0 or more"
        )
    if not isinstance(plan, Mapping):
        raise InvalidError("this is not the state of a schedule: plan is not a dict")
    return saved


def _is_factor(name: Any, factor: Any) -> bool:
    return isinstance(name, str) and type(factor) in {int, float} and math.isfinite(factor) and factor >= 0


def _at_least_one(number: int, name: str) -> int:
    if operator.index(number) < 1:
        raise InvalidError(f"{name}={number} is not 1 or more")
    return operator.index(number)


def _costs(plan: "Packs", factors: tuple[tuple[str, float], ...], start: int, stop: int) -> "npt.NDArray[np.float64]":
    import numpy as np

    costs = np.zeros(max(stop - start, 0))
    for name, factor in factors:
        costs += factor * plan.totals(name, start, stop)
    return costs


def _factors(plan: "Packs", balance: Balance) -> tuple[tuple[str, float], ...]:
    """The sizes that make up the cost of a pack, and their factors; empty if packs are not balanced."""
    if balance is None:
        return ()
    if balance == "auto":
        balance = next((name for name in (PATCHES, IMAGES) if name in plan.sizes), f"{TOKENS}^2")
    require_type("balance", balance, str | Mapping)
    given = {balance: 1.0} if isinstance(balance, str) else balance
    factors = tuple((name, float(factor)) for name, factor in given.items())
    for name, factor in factors:
        if not math.isfinite(factor) or factor < 0:
            raise InvalidError(f"balance: the factor of {name!r} is {factor}; give a finite number of 0 or more")
    _require_sizes(plan, factors)
    return factors


def _require_sizes(plan: "Packs", factors: tuple[tuple[str, float], ...]) -> None:
    for name, _ in factors:
        if name.removesuffix("^2") not in plan.sizes:
            raise InvalidError(f"balance={name!r} is not a size of the plan{hint(name, plan.sizes)}")
