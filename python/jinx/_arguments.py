"""Arguments of the wrong type, which are refused by their names."""

import operator
import sys
from collections.abc import Iterable
from reprlib import repr as short
from typing import Any, cast

_MOST_WORKERS = 1024


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


def size_number(name: str, value: Any) -> int:
    """A number of bytes or threads, as the core takes it.

    Raises:
        TypeError: It is not an int.
        ValueError: It is negative, or beyond 63 bits.
    """
    number = whole_number(name, value, least=0)
    if number > sys.maxsize:
        raise ValueError(f"{name}={number} is out of range; give a number from 0 to {sys.maxsize}")
    return number


def worker_number(name: str, value: Any, least: int) -> int:
    """A number of threads or processes, which are all started.

    Raises:
        TypeError: It is not an int.
        ValueError: It is below `least`, or would take the threads that the rest of the system needs.
    """
    number = whole_number(name, value, least)
    if number > _MOST_WORKERS:
        raise ValueError(f"{name}={number} is more than {_MOST_WORKERS:,}; about one for each core is enough")
    return number


def encodable(what: str, text: str) -> str:
    """A string that has a UTF-8 form, as all names and expressions in files have.

    Raises:
        ValueError: It has lone surrogates.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} {text!a} has lone surrogates, and no UTF-8 form") from None
    return text


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
