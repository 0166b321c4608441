"""Checks the results of operators: a wrong number of values or positions would silently affect other rows."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx._arguments import encodable
from jinx_pipeline.operators.api.sample_source import PRIVATE

if TYPE_CHECKING:
    import numpy.typing as npt


class ReturnedError(ValueError):
    """Raised when the result of an operator does not fit its samples."""


def check_count(title: str, values: Any, count: int) -> None:
    """Refuse anything except a list, ndarray or Arrow array with a value for each sample.

    Raises:
        ReturnedError: The number of values differs.
        TypeError: The result is of another type.
    """
    # Strings, sets and dicts have a length too.
    is_other = isinstance(values, str | bytes | Mapping | AbstractSet) or not hasattr(values, "__len__")
    if is_other or getattr(values, "ndim", 1) == 0:
        raise TypeError(f"{title} is a {type(values).__name__}; give a list or an array with a value for each sample")
    if len(values) != count:
        raise ReturnedError(f"{title} has {len(values)} values for {count} samples")


def check_column(name: Any, values: Any, count: int) -> None:
    """Refuse a column whose name is not a string or not valid UTF-8, or that lacks a value for any sample.

    Raises:
        ReturnedError: The number of values differs.
        TypeError: The name or the values are of another type.
        ValueError: The name has lone surrogates.
    """
    if not isinstance(name, str):
        raise TypeError(f"a column is named {name!r}, of type {type(name).__name__}; names of columns are strings")
    encodable("the column", name)
    check_count(f"the column {name!r}", values, count)


def refuse_private(names: Iterable[str]) -> None:
    """Refuse columns whose names are reserved for parts.

    Raises:
        ValueError: There is such a column.
    """
    if taken := set(PRIVATE).intersection(names):
        raise ValueError(f"{min(taken)} is a name that a run uses itself; name the column otherwise")


def checked_mask(title: str, mask: Any, count: int) -> "npt.NDArray[np.bool_]":
    """A checked mask over samples; integers 0 and 1 are refused, because they would be used as positions.

    Raises:
        ReturnedError: The number of elements differs.
        TypeError: They are not booleans.
    """
    check_count(title, mask, count)
    array = np.asarray(mask)
    if array.dtype != np.bool_ and count:
        raise TypeError(f"{title} holds {_kind(array)}; it is a mask, a bool for each sample")
    return array.astype(np.bool_, copy=False)


def checked_positions(title: str, positions: Any, count: int, *, once: bool = False) -> "npt.NDArray[np.int64]":
    """Checked positions of samples, from 0 to `count` - 1, of shape (n,).

    Args:
        title: The beginning of messages.
        positions: A list or an array.
        count: The number of samples.
        once: Whether each position is there at most once.

    Raises:
        ReturnedError: A position is out of range, or repeated.
        TypeError: They are not a flat list of integers.
    """
    try:
        array = np.asarray(positions)
    except ValueError:  # lists of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1:
        what = "a nested list or array" if array.ndim else f"a {type(positions).__name__}"
        raise TypeError(f"{title} are positions of samples in a flat list or array, not {what}")
    if array.dtype.kind not in "iu" and len(array):
        raise TypeError(f"{title} are positions of samples, and integers; not {_kind(array)}")
    outside = array[(array < 0) | (array >= count)] if len(array) else array
    if len(outside):
        raise ReturnedError(f"{title} hold {outside[0]}; there are {count} samples, from 0 to {count - 1}")
    array = array.astype(np.int64, copy=False)  # signed, because differences of unsigned integers are not
    if once and not (np.diff(array) > 0).all():
        values, counts = np.unique(array, return_counts=True)
        if len(values) < len(array):
            raise ReturnedError(f"{title} hold {values[counts > 1][0]} more than once; a sample is there at most once")
    return array


def _kind(array: "npt.NDArray[Any]") -> str:
    return type(array.flat[0]).__name__ if array.dtype == object else str(array.dtype)
