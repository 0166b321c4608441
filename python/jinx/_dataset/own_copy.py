"""Copies of values that their owner may change."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final, cast

_PLAIN: Final = frozenset({str, bytes, int, float, bool, type(None)})
"""The types of values that cannot change; a list of them is copied at once."""


def array_copy(value: Any) -> Any:
    """A copy of a NumPy array and the objects in it; any other value itself."""
    # Its module tells without an import of NumPy.
    if type(value).__module__.partition(".")[0] != "numpy" or not getattr(value, "ndim", 0):
        return value
    return deepcopy(value) if value.dtype.hasobject else value.copy()


def own_copy(value: Any, copy_other: Callable[[Any], Any] = array_copy) -> Any:
    """A copy of the lists and dicts in a value.

    Args:
        value: The value.
        copy_other: Copies what is neither a list nor a dict.
    """
    kind = cast("type[Any]", type(value))
    if kind is list:
        if _PLAIN.issuperset(map(type, value)):
            return value.copy()
        return [own_copy(element, copy_other) for element in value]
    if kind is dict:
        if _PLAIN.issuperset(map(type, value.values())):
            return value.copy()
        return {name: own_copy(member, copy_other) for name, member in value.items()}
    return copy_other(value)
