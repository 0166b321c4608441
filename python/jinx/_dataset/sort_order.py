"""Parses sort keys such as `-len(messages)`, and sorts positions stably by values."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Key = str | Callable[[Any], Any]


def parse_key(key: str, columns: list[str]) -> tuple[str, bool, bool]:
    """(column, whether to sort by its length, whether the order is descending) from `len(messages)`, `-score`, `score`.

    A column with exactly this name wins over any other reading.
    """
    if key in columns:
        return key, False, False
    descending = key.startswith("-")
    name = key.removeprefix("-")
    if name.startswith("len(") and name.endswith(")") and name not in columns:
        return name[4:-1].strip(), True, descending
    return name, False, descending


def stable_order(values: Any, present: Any, *, descending: bool) -> "npt.NDArray[np.int64]":
    """Positions, of shape (n,), that sort `values`: equal values keep their order; missing values and NaN come last.

    Args:
        values: An ndarray of bools or numbers, where masked elements are missing, or a list, where None is missing.
        present: A boolean mask of shape (n,), or None if no value is missing.
        descending: Whether the largest comes first.

    Raises:
        TypeError: The values cannot be compared with each other.
    """
    import numpy as np

    if isinstance(values, list):
        return _order_of_objects(values, descending=descending)  # pyright: ignore[reportUnknownArgumentType]
    if hasattr(values, "mask"):  # a numpy.ma.MaskedArray
        present, values = ~np.ma.getmaskarray(values), values.data
    is_present = np.ones(len(values), dtype=np.bool_) if present is None else present
    if values.dtype.kind == "f":
        is_present = is_present & ~np.isnan(values)
    kept, missing = np.flatnonzero(is_present), np.flatnonzero(~is_present)
    chosen = values[kept]
    if descending:  # sort the reversed values, so that equal ones keep their order when the result is reversed
        order = (len(chosen) - 1 - np.argsort(chosen[::-1], kind="stable"))[::-1]
    else:
        order = np.argsort(chosen, kind="stable")
    return np.concatenate([kept[order], missing])


def _exact(value: Any) -> Any:
    """A value for comparisons: NumPy rounds numbers to a common type first, and Python compares them exactly."""
    import numpy as np

    if isinstance(value, np.number | np.bool_):
        return cast("Any", value).item()
    if type(value) is tuple:
        return tuple(map(_exact, cast("tuple[Any, ...]", value)))
    return list(map(_exact, cast("list[Any]", value))) if type(value) is list else value


def _order_of_objects(values: list[Any], *, descending: bool) -> "npt.NDArray[np.int64]":
    import numpy as np

    if any(issubclass(kind, np.generic | tuple | list) for kind in set(map(type, values))):
        values = list(map(_exact, values))
    kept = [index for index, value in enumerate(values) if value is not None and value == value]  # noqa: PLR0124 - NaN
    missing = sorted(set(range(len(values))).difference(kept))
    try:
        kept.sort(key=values.__getitem__, reverse=descending)
    except TypeError:
        kinds = sorted({type(values[index]).__name__ for index in kept})
        raise TypeError(
            f"values of kinds {', '.join(kinds)} have no order; sort by a function that returns comparable values"
        ) from None
    return np.array([*kept, *missing], dtype=np.int64)
