"""`jinx.pack`: makes a plan for a dataset."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from jinx._annotate.counting_settings import require_one_way_of_counting
from jinx._annotate.lengths import COUNTS, IDS
from jinx._arguments import require_type
from jinx._pack.config import Oversize, PackConfig, Strategy
from jinx._pack.plan import PackPlan
from jinx._pack.sizes import IMAGES, PATCHES, TOKENS, datasets_in, read_sizes
from jinx.errors import InvalidError

_MOST_THREADS = 2**16 - 1


def pack(
    source: Any,
    max_length: int = 4096,
    *,
    max_images: int | None = None,
    max_patches: int | None = None,
    budgets: Mapping[str, int] | None = None,
    strategy: Strategy = "knapsack",
    window: int = 16384,
    oversize: Oversize = "drop",
    seed: int | None = 0,
    epoch: int = 0,
    weights: Sequence[float] | None = None,
    lengths: str = TOKENS,
    threads: int = 0,
) -> PackPlan:
    """Decide which samples share a sequence, so that there is almost no padding. No sample is read.

        plan = jinx.pack(ds, max_length=4096, max_images=8)
        len(plan), plan.efficiency, plan[0]

    The samples are shuffled by seed and epoch, divided into windows, and each window is packed separately; packs that
    are not full are opened again in the next window. The same arguments give the same plan on every machine.

    Args:
        source: A dataset whose index holds `num_tokens` (and `num_images`, `num_patches`), as `jinx annotate` writes
            it, or whose views add these columns; an array of lengths; a dict of arrays by those names; or a list of
            these: a mixture.
        max_length: The tokens of a pack.
        max_images: The maximum number of images of a pack.
        max_patches: The maximum number of patches of a pack.
        budgets: More limits: names of indexed columns (or of arrays), each with the maximum of a pack.
        strategy: `"knapsack"` packs most tightly: it fills packs exactly, and with several budgets it tries two ways
            for each window. `"best_fit_decreasing"` and `"first_fit_decreasing"` take large samples first, `"next_fit"`
            takes them as they come.
        window: The number of samples that are packed together. If there are fewer than eight such windows, a window is
            an eighth of the samples, but at least 512, so that each epoch combines other samples.
        oversize: What to do with a sample over a budget: `"drop"` leaves it out, `"error"` raises an error,
            `"truncate"` plans its first tokens (a sample over another budget is left out). `plan.stats()` counts them.
        seed: The seed of the order; None packs the samples in their own order and does not shuffle the packs.
        epoch: The number of the epoch; each epoch has other packs.
        weights: For a mixture, how many times an epoch shows each source: 2 shows each sample twice, 0.5 shows one half
            of them, the other half in the next epoch. Fractions of a sample carry over to later epochs: 0.1 of 3
            samples is one sample in three or four epochs.
        lengths: The column with the number of tokens; `"len(input_ids)"` takes the length of a column.
        threads: The number of threads; 0: one for each core.

    A sample without tokens is in no pack, even if it has images; `plan.stats()` counts it as `dropped_empty`.

    Raises:
        InvalidError: A column is not indexed, or an option has an invalid value.
        KeyError: A column does not exist.
        MismatchError: `jinx annotate` counted the lengths of the samples in different ways, or a counted column has
            other values now.
        LimitError: A sample is over a budget, with `oversize="error"`; or the weights ask for too many samples.
    """
    require_type("lengths", lengths, str)
    require_type("budgets", budgets, Mapping | None)
    limits = {IMAGES: max_images, PATCHES: max_patches}
    chosen = {TOKENS: operator.index(max_length)}
    chosen |= {name: operator.index(limit) for name, limit in limits.items() if limit is not None}
    chosen |= {name: operator.index(limit) for name, limit in (budgets or {}).items()}
    sizes = read_sizes(source, list(chosen), lengths)
    if IDS in lengths or {lengths if name == TOKENS else name for name in chosen}.intersection(COUNTS):
        require_one_way_of_counting(datasets_in(source))
    config = PackConfig(
        budgets=chosen,
        strategy=strategy,
        window=operator.index(window),
        oversize=oversize,
        seed=None if seed is None else operator.index(seed),
        epoch=operator.index(epoch),
        weights=None if weights is None else tuple(_number(weight) for weight in weights),
    )
    if not 0 <= operator.index(threads) <= _MOST_THREADS:
        raise InvalidError(f"threads={threads} is not between 0 (one for each core) and {_MOST_THREADS}")
    return PackPlan.make(sizes, config, threads)


def _number(weight: float) -> float:
    try:
        return float(weight)
    except OverflowError:
        raise InvalidError("a weight is too large for a float; give smaller weights") from None
