"""The statistics of a packing plan."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jinx._pack.sizes import IMAGES, TOKENS
from jinx._results import Result

if TYPE_CHECKING:
    from jinx._pack.packs import Packs


@dataclass(frozen=True, slots=True)
class PackStats(Result):
    """Facts about a plan. An epoch draws `samples` and the dropped samples together.

    Attributes:
        packs: The number of packs.
        samples: The number of samples in the packs; a sample that is drawn twice counts twice.
        tokens: The number of tokens of these samples.
        efficiency: The share of tokens in packs that belong to samples.
        used: For each budget, the share that is used.
        volume_bound: The minimum number of packs for these samples, by the budget that is used most.
        over_bound: The excess of `packs` over `volume_bound`, as a share of `volume_bound`.
        samples_per_pack: The mean number of samples in a pack.
        dropped_empty: Samples without tokens, which are in no pack, even if they have images.
        dropped_oversize: Samples over a budget, which are in no pack.
        dropped_filtered: Samples in packs that `only` left out.
        truncated: Samples that are cut to their first tokens.
        packs_without_images: The number of packs without images; None if images are not counted.
    """

    packs: int
    samples: int
    tokens: int
    efficiency: float
    used: dict[str, float] = field(default_factory=dict[str, float])
    volume_bound: int = 0
    over_bound: float = 0.0
    samples_per_pack: float = 0.0
    dropped_empty: int = 0
    dropped_oversize: int = 0
    dropped_filtered: int = 0
    truncated: int = 0
    packs_without_images: int | None = None


def stats_of(plan: "Packs") -> PackStats:
    """See `PackPlan.stats`."""
    totals = {name: plan.totals(name) for name in plan.budgets}
    sums = {name: int(total.sum()) for name, total in totals.items()}
    bound = max(-(-sums[name] // budget) for name, budget in plan.budgets.items())
    images = totals.get(IMAGES)
    if images is None and plan.has_images:
        images = plan.totals(IMAGES)
    packs = len(plan)
    return PackStats(
        packs=packs,
        samples=len(plan.positions),
        tokens=sums[TOKENS],
        efficiency=plan.efficiency,
        used={name: sums[name] / (packs * budget) if packs else 1.0 for name, budget in plan.budgets.items()},
        volume_bound=bound,
        over_bound=packs / bound - 1 if bound else 0.0,
        samples_per_pack=len(plan.positions) / packs if packs else 0.0,
        dropped_empty=plan.left_out.empty,
        dropped_oversize=plan.left_out.oversize,
        dropped_filtered=plan.left_out.filtered,
        truncated=plan.left_out.truncated,
        packs_without_images=None if images is None else int((images == 0).sum()),
    )
