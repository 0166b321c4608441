"""Collates samples into a batch: stacks values of the same shape, and lists all others."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from jinx.torch._references import Referenced


def collate(samples: Sequence[Any]) -> Any:
    """A batch as a dict from column to values, for `DataLoader(collate_fn=jinx.torch.collate)`.

    - bools, ints and floats become a tensor of shape (batch,): bool, int64 or float64;
    - tensors, numpy arrays and numpy scalars of equal shape and dtype are stacked to (batch, ...);
    - dicts are collated member by member; tuples element by element;
    - everything else is a list: strings, bytes, lists, images, arrays of different shapes, and any column that a sample
      lacks (with None for that sample).

    Args:
        samples: The samples of one batch, at least one.
    """
    if isinstance(samples, Referenced):
        return samples.batch(collate)
    first = samples[0]
    if all(isinstance(sample, Mapping) for sample in samples):
        names = dict.fromkeys(name for sample in samples for name in sample)
        return {name: collate([sample.get(name) for sample in samples]) for name in names}
    if isinstance(first, tuple) and all(isinstance(s, tuple) and len(s) == len(first) for s in samples):  # pyright: ignore[reportUnknownArgumentType]
        return tuple(collate(list(column)) for column in zip(*samples, strict=True))
    return _stack(list(samples))


def _stack(values: list[Any]) -> Any:
    """A tensor if the values can be stacked, otherwise the list."""
    kinds: set[type[Any]] = {type(value) for value in values}
    if kinds == {bool} or kinds <= {int, float}:
        return _numbers(values, kinds)
    if len(kinds) != 1 or not _alike(values):
        return values
    if isinstance(values[0], torch.Tensor):
        return torch.stack(values)
    import numpy as np

    try:
        return torch.from_numpy(np.stack(values))  # pyright: ignore[reportUnknownMemberType]
    except TypeError:  # torch does not support the dtype
        return values


def _alike(values: list[Any]) -> bool:
    """Whether all values are tensors, or all are numpy values, of one shape and a numeric dtype."""
    first = values[0]
    if not isinstance(first, torch.Tensor):
        dtype = getattr(first, "dtype", None)
        if type(first).__module__ != "numpy" or getattr(dtype, "kind", "") not in "biufc":
            return False
    return all(value.dtype == first.dtype and value.shape == first.shape for value in values)


def _numbers(values: list[Any], kinds: set[type[Any]]) -> Any:
    if float in kinds:
        return torch.tensor(values, dtype=torch.float64)
    try:
        return torch.tensor(values)
    except (OverflowError, RuntimeError, ValueError):  # integers beyond 64 bits stay exact
        return values
