"""Five ways to batch the same samples, from naive padding to packing under several budgets."""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jinx._pack.config import PackConfig, Strategy
from jinx._pack.packs import Packs
from jinx._pack.sizes import TOKENS, Sizes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Batching:
    """Samples in padded sequences.

    Attributes:
        positions: The samples of all sequences, one sequence after another.
        offsets: The start of each sequence in `positions`, and the end of the last one.
        widths: The tokens of each sequence, padding included.
    """

    positions: "npt.NDArray[np.int64]"
    offsets: "npt.NDArray[np.int64]"
    widths: "npt.NDArray[np.int64]"


def naive_padding(sizes: Sizes, order: "npt.NDArray[np.int64]", batch_size: int) -> Batching:
    """Each batch is padded to its longest sample; batches are filled in a given order."""
    import numpy as np

    lengths = sizes.columns[TOKENS][order].astype(np.int64)
    starts = np.arange(0, len(lengths), batch_size)
    widest = np.maximum.reduceat(lengths, starts) if len(lengths) else lengths
    return Batching(order, np.arange(len(order) + 1), np.repeat(widest, batch_size)[: len(lengths)])


def constrained_padding(sizes: Sizes, order: "npt.NDArray[np.int64]", max_length: int) -> Batching:
    """Samples over `max_length` are dropped, and all others padded to it."""
    import numpy as np

    kept = order[sizes.columns[TOKENS][order] <= max_length]
    return Batching(kept, np.arange(len(kept) + 1), np.full(len(kept), max_length))


def greedy(sizes: Sizes, config: PackConfig) -> Packs:
    """Sequences are filled with samples as they come; only tokens count."""
    return _packed(sizes, config, "next_fit", [TOKENS])


def bin_packing(sizes: Sizes, config: PackConfig) -> Packs:
    """Long samples come first, each into the first sequence with room; only tokens count."""
    return _packed(sizes, config, "first_fit_decreasing", [TOKENS])


def knapsack(sizes: Sizes, config: PackConfig) -> Packs:
    """Sequences are filled exactly, under all budgets."""
    return _packed(sizes, config, "knapsack", list(config.budgets))


def batching_of(packs: Packs, count: int | None = None) -> Batching:
    """Packs, or the first few of them, as sequences of the full length."""
    import numpy as np

    count = len(packs) if count is None else min(count, len(packs))
    offsets = packs.offsets[: count + 1].astype(np.int64)
    widths = np.full(count, packs.max_length)
    return Batching(packs.positions[: offsets[-1]].astype(np.int64), offsets, widths)


def _packed(sizes: Sizes, config: PackConfig, strategy: Strategy, names: list[str]) -> Packs:
    budgets = {name: config.budgets[name] for name in names}
    return Packs.make(sizes, dataclasses.replace(config, strategy=strategy, budgets=budgets))
