"""Converts indices, slices and masks to an array of positions."""

import operator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def scalar(key: Any) -> int | None:
    """The int that a numpy or torch scalar stands for; None when `key` is something else."""
    if getattr(key, "ndim", 0) != 0 or not hasattr(key, "__index__"):
        return None
    try:
        return operator.index(key)
    except TypeError:
        return None


def positions(key: Any, length: int) -> "npt.NDArray[np.int64]":
    """Positions in `range(length)`, of shape (n,), from indices or a boolean mask.

    Args:
        key: A slice, or a sequence, iterable, ndarray or tensor of ints (negative ones count from the end), or a
            boolean mask of shape (length,).
        length: The number of samples to select from.

    Raises:
        IndexError: An index is out of range, or a mask has another length.
        TypeError: The elements are neither ints nor bools.
    """
    import numpy as np

    if isinstance(key, slice):
        start, stop, step = key.indices(length)
        return np.arange(start, stop, step, dtype=np.int64)
    if isinstance(key, range):
        array = np.arange(key.start, key.stop, key.step, dtype=np.int64)
    elif not hasattr(key, "__array__") and not hasattr(key, "__iter__"):
        raise TypeError(f"samples are selected by ints, slices or a boolean mask, not by {key!r}; of one: [{key!r}]")
    else:
        array = np.asarray(_without_mask(key) if hasattr(key, "__array__") or hasattr(key, "__len__") else list(key))
    if array.size == 0 and array.dtype.kind != "b":
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1:
        raise TypeError(f"samples are selected by a one-dimensional array, not by one of shape {array.shape}")
    if array.dtype.kind == "b":
        if len(array) != length:
            raise IndexError(f"the mask has {len(array)} elements, the dataset has {length} samples")
        return np.flatnonzero(array)
    if array.dtype.kind not in "iu":
        raise TypeError(f"samples are selected by ints, slices or a boolean mask, not by {array.dtype} values")
    low, high = int(array.min()), int(array.max())
    if low < -length or high >= length:
        bad = low if low < -length else high
        raise IndexError(f"index {bad} is out of range for {length} samples")
    array = array.astype(np.int64, copy=False)
    return np.where(array < 0, array + length, array) if low < 0 else array


def in_files(indices: bytes | None, length: int) -> "range | list[int]":
    """The positions of a view's samples in its files.

    Args:
        indices: The view, as `Dataset._indices`.
        length: The number of samples of the view.
    """
    if indices is None:
        return range(length)
    import numpy as np

    return np.frombuffer(indices, dtype="<u8").tolist()


def _without_mask(key: Any) -> Any:
    """A masked array as a plain one: masked elements of a boolean mask select nothing."""
    import numpy as np

    if not isinstance(key, np.ma.MaskedArray):
        return key
    masked = cast("Any", key)
    if masked.dtype.kind != "b" and masked.mask.any():
        raise TypeError("samples are selected by ints; none may be missing")
    return masked.filled(False) if masked.dtype.kind == "b" else masked.data  # noqa: FBT003 - defined this way by numpy
