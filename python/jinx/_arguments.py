"""Checks arguments; an error about a wrong type or value names the argument."""

import operator
import sys
from collections.abc import Iterable
from reprlib import repr as short
from typing import Any, cast

_MOST_WORKERS = 1024


def require_type(name: str, value: Any, kind: Any) -> None:
    """Refuse a value of another type; `str | None` allows several types.

    Raises:
        TypeError: The value has another type.
    """
    if not isinstance(value, kind):
        expected = kind.__name__ if isinstance(kind, type) else kind
        raise TypeError(f"{name}={short(value)} is of type {type(value).__name__}, not {expected}")


def require_function(name: str, value: Any) -> None:
    """Refuse a value that is neither a function nor None.

    Raises:
        TypeError: The value is neither.
    """
    if value is not None and not callable(value):
        raise TypeError(f"{name}={short(value)} is of type {type(value).__name__}, not a function")


def texts(name: str, value: Any) -> list[str]:
    """A list of strings, from one string or several.

    Raises:
        TypeError: The value is neither a string nor an iterable of strings.
    """
    if isinstance(value, str):
        return [value]
    given: Any = value
    items = list(cast("Iterable[Any]", value)) if isinstance(value, Iterable) else None
    if items is None or not all(isinstance(item, str) for item in items):
        raise TypeError(f"{name}={short(given)} is neither a string nor several of them")
    return items


def size_number(name: str, value: Any) -> int:
    """A number of bytes or threads that the core accepts.

    Raises:
        TypeError: The number is not an int.
        ValueError: The number is negative, or beyond 63 bits.
    """
    number = whole_number(name, value, least=0)
    if number > sys.maxsize:
        raise ValueError(f"{name}={number} is out of range; give a number from 0 to {sys.maxsize}")
    return number


def worker_number(name: str, value: Any, least: int) -> int:
    """A number of threads or processes to start.

    Raises:
        TypeError: The number is not an int.
        ValueError: The number is below `least`, or so large that the system would run out of threads.
    """
    number = whole_number(name, value, least)
    if number > _MOST_WORKERS:
        raise ValueError(f"{name}={number} is more than {_MOST_WORKERS:,}; about one for each core is enough")
    return number


def encodable(what: str, text: str) -> str:
    """A string that can be encoded as UTF-8, as all names and expressions in files are.

    Raises:
        ValueError: The string has lone surrogates.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} {text!a} has lone surrogates, and no UTF-8 form") from None
    return text


def whole_number(name: str, value: Any, least: int) -> int:
    """An int of Python, numpy or torch, as a Python int.

    Raises:
        TypeError: The value is not an integer.
        ValueError: The number is below `least`.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={short(value)} is of type {type(value).__name__}, not int")
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name}={number} is not at least {least}")
    return number
