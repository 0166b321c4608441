"""Arguments of the wrong type, which are refused by their names."""

import operator
from collections.abc import Iterable
from reprlib import repr as short
from typing import Any, cast


def require_type(name: str, value: Any, kind: Any) -> None:
    """Refuse what is not of a type, or of one of several (`str | None`).

    Raises:
        TypeError: It is not.
    """
    if not isinstance(value, kind):
        expected = kind.__name__ if isinstance(kind, type) else kind
        raise TypeError(f"{name}={short(value)} is of type {type(value).__name__}, not {expected}")


def require_function(name: str, value: Any) -> None:
    """Refuse what can be neither called nor left out.

    Raises:
        TypeError: It is neither a function nor None.
    """
    if value is not None and not callable(value):
        raise TypeError(f"{name}={short(value)} is of type {type(value).__name__}, not a function")


def texts(name: str, value: Any) -> list[str]:
    """One string, or several.

    Raises:
        TypeError: They are something else.
    """
    if isinstance(value, str):
        return [value]
    given: Any = value
    found = list(cast("Iterable[Any]", value)) if isinstance(value, Iterable) else None
    if found is None or not all(isinstance(one, str) for one in found):
        raise TypeError(f"{name}={short(given)} is neither a string nor several of them")
    return found


def whole_number(name: str, value: Any, least: int) -> int:
    """An int of Python, numpy or torch.

    Raises:
        TypeError: It is something else.
        ValueError: It is below `least`.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={short(value)} is of type {type(value).__name__}, not int")
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name}={number} is not at least {least}")
    return number
