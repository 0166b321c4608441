"""Mixing sources: how many samples of each, chosen with a seed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.recipe.model import SourceSpec

if TYPE_CHECKING:
    import numpy.typing as npt


def mixture_order(sources: Sequence[SourceSpec], rows: Sequence[int], seed: int) -> "npt.NDArray[np.int64] | None":
    """Which rows of all sources, one after another, are read; None for all, in order.

    With weights, as many samples are taken as the smallest source allows for these shares, a cap counting as its size.
    Which ones is chosen with the seed; they keep their order.

    Raises:
        ValueError: No source has a weight, or one that has a weight has no samples.
    """
    available = [
        count if source.max_samples is None else min(count, source.max_samples)
        for source, count in zip(sources, rows, strict=True)
    ]
    if sources and not any(source.weight for source in sources):
        raise ValueError("no source has a weight above 0")
    wanted = list(available)
    if len({source.weight for source in sources}) > 1:
        for source, have in zip(sources, available, strict=True):
            if source.weight > 0 and not have:
                raise ValueError(
                    f"{source.path} has weight {source.weight:g} and no samples, so the mixture would have none; "
                    "remove it, or give it weight 0"
                )
        total = sum(source.weight for source in sources)
        whole = min(
            count * total / source.weight for source, count in zip(sources, available, strict=True) if source.weight > 0
        )
        wanted = [
            min(round(whole * source.weight / total), have) for source, have in zip(sources, available, strict=True)
        ]
    if wanted == list(rows):
        return None
    dice = np.random.default_rng(seed)
    chosen: list[npt.NDArray[np.int64]] = []
    first = 0
    for want, count in zip(wanted, rows, strict=True):
        chosen.append(first + np.sort(dice.choice(count, size=want, replace=False)).astype(np.int64))
        first += count
    return np.concatenate(chosen) if chosen else None
