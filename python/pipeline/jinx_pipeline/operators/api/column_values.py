"""The values of a column of a batch: lists, ndarrays and Arrow arrays."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt


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
