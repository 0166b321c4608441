"""Mixes sources: selects samples of each by weight, with a seed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.recipe.model import Recipe, SourceSpec

if TYPE_CHECKING:
    import numpy.typing as npt


def order_of_groups(recipe: Recipe, rows: Sequence[int]) -> "tuple[npt.NDArray[np.int64] | None, list[int]]":
    """The rows to read, numbered over all sources in order, and how many of them each group of sources has.

    Args:
        recipe: The recipe.
        rows: The rows of each source.

    Raises:
        ValueError: An error of `mixture_order`.
    """
    group_rows = [sum(rows[source] for source in group) for group in recipe.groups]
    firsts = np.cumsum([0, *group_rows])
    if recipe.only_rows is not None:
        order = np.array(recipe.only_rows, dtype=np.int64)
        return order, np.diff(np.searchsorted(order, firsts)).tolist()
    orders = [
        mixture_order([recipe.sources[source] for source in group], [rows[source] for source in group], seed)
        for group in recipe.groups
        for seed in [recipe.options.seed]
    ]
    if all(order is None for order in orders):
        return None, group_rows
    whole = [
        first + (np.arange(count, dtype=np.int64) if order is None else order)
        for order, first, count in zip(orders, firsts.tolist(), group_rows, strict=False)
    ]
    return np.concatenate(whole), [len(order) for order in whole]


def mixture_order(sources: Sequence[SourceSpec], rows: Sequence[int], seed: int) -> "npt.NDArray[np.int64] | None":
    """The rows to read, numbered over all sources in order; None means all rows in order.

    With weights, the mixture is as large as possible: the source that is too small for its share limits it;
    `max_samples` counts as the size of a source. The seed chooses the samples, which keep their order. A source with
    weight 0 is left out, as if it were not there.

    Raises:
        ValueError: No source has a weight, or a source with a weight has no samples.
    """
    available = [
        count if source.max_samples is None else min(count, source.max_samples)
        for source, count in zip(sources, rows, strict=True)
    ]
    if sources and not any(source.weight for source in sources):
        raise ValueError("no source has a weight above 0")
    shares = [(source, count) for source, count in zip(sources, available, strict=True) if source.weight > 0]
    counts = [count if source.weight > 0 else 0 for source, count in zip(sources, available, strict=True)]
    if len({source.weight for source, _ in shares}) > 1:
        for source, count in shares:
            if not count:
                raise ValueError(
                    f"{source.path} has weight {source.weight:g} and no samples, so the mixture would have none; "
                    "remove it, or give it weight 0"
                )
        total = sum(source.weight for source in sources)
        whole = min(count * total / source.weight for source, count in shares)
        counts = [
            min(round(whole * source.weight / total), count) for source, count in zip(sources, counts, strict=True)
        ]
    if counts == list(rows):
        return None
    generator = np.random.default_rng(seed)
    chosen: list[npt.NDArray[np.int64]] = []
    first = 0
    for source, count, source_rows in zip(sources, counts, rows, strict=True):
        if source.weight > 0:
            chosen.append(first + np.sort(generator.choice(source_rows, size=count, replace=False)).astype(np.int64))
        first += source_rows
    return np.concatenate(chosen) if chosen else None
