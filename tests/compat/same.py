"""Equality of two values in type, dtype, order of names and bits."""

import math
from typing import Any

import numpy as np
import torch


def difference(got: Any, want: Any, *, ordered: bool = True, path: str = "$") -> str | None:
    """Where two values differ; None if they do not."""
    if type(got) is not type(want):
        return f"{path}: {type(got).__name__} {got!r} instead of {type(want).__name__} {want!r}"
    if isinstance(want, dict):
        names, wanted = list(got), list(want)
        if names != wanted if ordered else set(names) != set(wanted):
            return f"{path}: names {names} instead of {wanted}"
        pairs = [(f"{path}.{name}", got[name], want[name]) for name in want]
    elif isinstance(want, list):
        if len(got) != len(want):
            return f"{path}: {len(got)} elements instead of {len(want)}"
        pairs = [(f"{path}[{i}]", one, two) for i, (one, two) in enumerate(zip(got, want, strict=True))]
    else:
        return None if _same(got, want) else f"{path}: {got!r} instead of {want!r}"
    found = (difference(one, two, ordered=ordered, path=place) for place, one, two in pairs)
    return next((text for text in found if text), None)


def _same(got: Any, want: Any) -> bool:
    if isinstance(want, np.ndarray | np.generic):
        if got.dtype != want.dtype or got.shape != want.shape:
            return False
        return got.tobytes() == want.tobytes() or (
            want.dtype.kind in "fc" and np.array_equal(got, want, equal_nan=True)
        )
    if isinstance(want, torch.Tensor):
        return got.dtype == want.dtype and torch.equal(got, want)
    if isinstance(want, float):
        both_nan = math.isnan(got) and math.isnan(want)
        return both_nan or (got == want and math.copysign(1, got) == math.copysign(1, want))
    return got == want
