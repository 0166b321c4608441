"""The values of a column of a batch: lists, ndarrays and Arrow arrays."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import pyarrow as pa

from jinx._dataset.own_copy import own_copy as copied
from jinx._dataset.stored_ranges import StoredRange

if TYPE_CHECKING:
    import numpy.typing as npt


@final
class Removed:
    """The type of `REMOVED`."""

    def __repr__(self) -> str:
        return "REMOVED"

    def __reduce__(self) -> str:
        return "REMOVED"


REMOVED: Final = Removed()
"""A value of a changed column: the sample no longer has this column."""

# Values of these types cannot be edited in place.
_IMMUTABLE: Final = (str, bytes, int, float, bool, type(None), np.number, np.bool_, StoredRange, Removed)


def element(values: Callable[[], list[Any]], index: int) -> Any:
    """The element of a list that is created when it is needed."""
    return values()[index]


def as_list(values: Any) -> list[Any]:
    """The values of a column as a list of Python values."""
    if isinstance(values, list):
        return values
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.to_pylist()
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def taken(values: Any, positions: "npt.NDArray[np.int64]") -> Any:
    """The elements at positions."""
    if isinstance(values, np.ndarray):
        return values[positions]
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.take(pa.array(positions))
    return [values[position] for position in positions.tolist()]


def concatenated(parts: Sequence[Any]) -> Any:
    """The values of several batches as one column."""
    if all(isinstance(part, pa.Array) for part in parts) and len({part.type for part in parts}) == 1:
        return pa.concat_arrays(parts)
    return [value for part in parts for value in as_list(part)]


def own_copy(value: Any) -> Any:
    """A value that can be edited in place without affecting others; the value itself if it cannot be edited."""
    return copied(value, _copied_leaf)


def _copied_leaf(value: Any) -> Any:
    if isinstance(value, _IMMUTABLE):
        return value
    if isinstance(value, memoryview):  # `deepcopy` refuses it
        return value if value.readonly else memoryview(bytearray(value))
    return deepcopy(value)


def own_column(values: Any) -> Any:
    """The values of a column, of which none can be edited in place in another column."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, np.ndarray):
        return deepcopy(values) if values.dtype.hasobject else values.copy()
    return [own_copy(value) for value in as_list(values)]
