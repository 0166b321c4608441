"""What operators return, checked: a wrong number of values or positions would silently be other rows."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


class ReturnedError(ValueError):
    """What an operator returned does not fit the samples that it was given."""


def check_count(what: str, values: Any, count: int) -> None:
    """Refuse what is no list, ndarray or Arrow array with a value for each sample.

    Raises:
        ReturnedError: The number of values differs.
        TypeError: It is something else.
    """
    # A string, a set and a dict have a length too.
    is_other = isinstance(values, str | bytes | Mapping | AbstractSet) or not hasattr(values, "__len__")
    if is_other or getattr(values, "ndim", 1) == 0:
        raise TypeError(f"{what} is a {type(values).__name__}; give a list or an array with a value for each sample")
    if len(values) != count:
        raise ReturnedError(f"{what} has {len(values)} values for {count} samples")


def checked_mask(what: str, mask: Any, count: int) -> "npt.NDArray[np.bool_]":
    """A mask over samples; of 0 and 1 it would be positions.

    Raises:
        ReturnedError: The number of elements differs.
        TypeError: They are no booleans.
    """
    check_count(what, mask, count)
    array = np.asarray(mask)
    if array.dtype != np.bool_ and count:
        raise TypeError(f"{what} holds {_kind(array)}; it is a mask, a bool for each sample")
    return array.astype(np.bool_, copy=False)


def checked_positions(what: str, positions: Any, count: int) -> "npt.NDArray[np.int64]":
    """Positions of samples, from 0 to `count` - 1.

    Raises:
        ReturnedError: One is out of range.
        TypeError: They are no integers.
    """
    array = np.asarray(positions).reshape(-1)
    if array.dtype.kind not in "iu" and len(array):
        raise TypeError(f"{what} are positions of samples, and integers; not {_kind(array)}")
    outside = array[(array < 0) | (array >= count)] if len(array) else array
    if len(outside):
        raise ReturnedError(f"{what} hold {outside[0]}; there are {count} samples, from 0 to {count - 1}")
    return array.astype(np.int64, copy=False)


def _kind(array: "npt.NDArray[Any]") -> str:
    return type(array.flat[0]).__name__ if array.dtype == object else str(array.dtype)
