"""`jinx.compare_packing`: the padding of five ways to batch the same samples, as numbers and for a picture."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinx._annotate.counting_settings import require_one_way_of_counting
from jinx._pack import batching_methods
from jinx._pack.chart_rows import IMAGE_TOKENS, Row, rows_of
from jinx._pack.config import PackConfig
from jinx._pack.packs import Packs
from jinx._pack.schedule import PackSchedule
from jinx._pack.sizes import IMAGES, PATCHES, TOKENS, Sizes, datasets_in, read_sizes
from jinx._results import Result
from jinx.errors import InvalidError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_RANKS = 8
_STEPS = 64


@dataclass(frozen=True, slots=True)
class Stage(Result):
    """One way to batch all samples.

    Attributes:
        name: `"naive_padding"`, `"constrained_padding"`, `"greedy"`, `"bin_packing"` or `"knapsack"`.
        rows: Sequences.
        samples: Samples in them.
        dropped: Samples that are left out: empty ones, too long ones, and in the knapsack also samples over another
            budget.
        tokens: Tokens of the samples.
        cells: Tokens of the sequences, padding included.
        efficiency: `tokens / cells`.
        images: The minimum, mean and maximum number of images of a sequence; None if unknown.
    """

    name: str
    rows: int
    samples: int
    dropped: int
    tokens: int
    cells: int
    efficiency: float
    images: tuple[int, float, int] | None


@dataclass(frozen=True, slots=True)
class PackComparison(Result):
    """The result of `jinx.compare_packing`: five ways to batch the same samples.

    Attributes:
        samples: The number of samples.
        budgets: The limits of a sequence of the knapsack.
        stages: The five ways.
        shown: For each way, the sequences of some of the samples, which the picture shows.
        cost: The size that counts as the cost of a pack.
        costs: The cost of each of 8 ranks in up to 64 steps, `before` and `after` balancing: lists of 8 numbers.
        imbalance: The cost of the slowest rank over the mean, on average over the epoch, `before` and `after`.
    """

    samples: int
    budgets: dict[str, int]
    stages: list[Stage]
    shown: dict[str, list[Row]]
    cost: str
    costs: dict[str, list[list[float]]]
    imbalance: dict[str, float]

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the picture: four panels of sequences, with images at the right and the costs of ranks below.

        Args:
            path: The file; its suffix selects the format: `.png`, `.svg` or `.pdf`. An existing file is replaced.
        """
        from jinx._pack.picture import draw

        draw(self.to_dict(), path)

    def save_json(self, path: str | os.PathLike[str]) -> None:
        """Write all numbers as JSON, including the numbers of the picture. An existing file is replaced."""
        from jinx._atomic_write import write_json

        write_json(path, self.to_dict())


def compare_packing(
    source: Any,
    max_length: int = 4096,
    *,
    max_images: int | None = None,
    max_patches: int | None = None,
    batch_size: int = 8,
    window: int = 16384,
    seed: int = 0,
    show: int = 32,
    lengths: str = TOKENS,
    tokens_per_image: int = 0,
) -> PackComparison:
    """Batch samples in five ways, and compare how much padding each needs. No sample is read.

    Naive padding pads each batch to its longest sample. Constrained padding drops samples over `max_length` and pads
    the others to it. Greedy packing puts samples into sequences as they come. Bin packing takes the longest first. The
    knapsack limits images too and fills sequences exactly; its schedule gives the ranks of a step equal costs.

    Args:
        source: As for `jinx.pack`.
        max_length: The tokens of a sequence.
        max_images: The maximum number of images of a sequence, for the knapsack.
        max_patches: The maximum number of patches of a sequence, for the knapsack.
        batch_size: The sequences of a batch, for naive padding.
        window: As for `jinx.pack`.
        seed: The seed of the order of the samples.
        show: The number of samples in the picture.
        lengths: As for `jinx.pack`.
        tokens_per_image: The tokens of one image, for the picture; if samples have a size `num_image_tokens`, it is
            used instead.

    Raises:
        InvalidError: There are no samples, or an option has an invalid value.
        MismatchError: `jinx annotate` counted the lengths of the samples in different ways.
    """
    import numpy as np

    if batch_size < 1 or show < 1:
        raise InvalidError("batch_size and show are 1 or more")
    limits = {TOKENS: max_length, IMAGES: max_images, PATCHES: max_patches}
    budgets = {name: limit for name, limit in limits.items() if limit is not None}
    sizes = read_sizes(source, list(budgets), lengths, also=(IMAGES, PATCHES, IMAGE_TOKENS))
    require_one_way_of_counting(datasets_in(source))
    total = len(sizes.columns[TOKENS])
    if not total:
        raise InvalidError("there are no samples to compare")
    config = PackConfig(budgets=budgets, window=window, seed=seed)
    config.check(len(sizes.samples))
    order = np.random.Generator(np.random.PCG64(seed)).permutation(total)
    best = batching_methods.knapsack(sizes, config)
    batchings = _all_stages(sizes, config, batch_size, order, best)
    chosen = np.sort(order[:show])
    part = Sizes({name: column[chosen] for name, column in sizes.columns.items()}, (len(chosen),), (None,))
    shown = _all_stages(part, config, batch_size, np.arange(len(chosen)), batching_methods.knapsack(part, config))
    cost = next((name for name in (PATCHES, IMAGES) if name in sizes.columns), f"{TOKENS}^2")
    before, after = _schedule(best, None), _schedule(best, cost)
    return PackComparison(
        samples=total,
        budgets=budgets,
        stages=[_stage(name, batching, sizes) for name, batching in batchings.items()],
        shown={name: rows_of(batching, part, chosen, tokens_per_image) for name, batching in shown.items()},
        cost=cost,
        costs={"before": before.step_costs(cost)[:_STEPS].tolist(), "after": after.step_costs(cost)[:_STEPS].tolist()},
        imbalance={"before": before.imbalance(cost), "after": after.imbalance(cost)},
    )


def _all_stages(
    sizes: Sizes, config: PackConfig, batch_size: int, order: "npt.NDArray[np.int64]", best: Packs
) -> dict[str, batching_methods.Batching]:
    return {
        "naive_padding": batching_methods.naive_padding(sizes, order, batch_size),
        "constrained_padding": batching_methods.constrained_padding(sizes, order, config.budgets[TOKENS]),
        "greedy": batching_methods.batching_of(batching_methods.greedy(sizes, config)),
        "bin_packing": batching_methods.batching_of(batching_methods.bin_packing(sizes, config)),
        "knapsack": batching_methods.batching_of(best),
    }


def _stage(name: str, batching: batching_methods.Batching, sizes: Sizes) -> Stage:
    import numpy as np

    tokens = int(sizes.columns[TOKENS][batching.positions].sum(dtype=np.uint64))
    cells = int(batching.widths.sum())
    images = None
    if IMAGES in sizes.columns and len(batching.widths):
        counts = np.add.reduceat(sizes.columns[IMAGES][batching.positions].astype(np.int64), batching.offsets[:-1])
        images = (int(counts.min()), float(counts.mean()), int(counts.max()))
    return Stage(
        name=name,
        rows=len(batching.widths),
        samples=len(batching.positions),
        dropped=sum(sizes.samples) - len(batching.positions),
        tokens=tokens,
        cells=cells,
        efficiency=tokens / cells if cells else 1.0,
        images=images,
    )


def _schedule(packs: Packs, balance: str | None) -> PackSchedule:
    return PackSchedule(
        packs, world_size=_RANKS, rank=0, batch_size=1, accumulation=1, balance=balance, drop_last=True, resume=None
    )
