"""Keys of any type as strings, so that equal keys are equal strings and can be hashed.

Operators that ask whether two values are equal all ask here, so that they agree: 1 and 1.0 are equal, also in lists
and dicts; True and 1 are not, nor are "1" and 1; all NaN are equal.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np


def key_texts(columns: Sequence[Sequence[Any]], count: int) -> list[str]:
    """A string for each sample; two samples have the same string if all parts of their keys are equal.

    Args:
        columns: The values of each part of the key.
        count: The number of samples.
    """
    if not columns:
        return [""] * count
    if len(columns) == 1:
        return [key_text(value) for value in columns[0]]
    return [json.dumps([key_text(value) for value in key]) for key in zip(*columns, strict=True)]


def present_key_texts(columns: Sequence[Sequence[Any]], count: int) -> list[str | None]:
    """Like `key_texts`, but None if a part of the key is missing."""
    texts = key_texts(columns, count)
    missing = [any(map(is_missing, key)) for key in zip(*columns, strict=True)]
    return [None if has_missing else text for has_missing, text in zip(missing, texts, strict=True)]


def key_text(value: Any) -> str:
    """A string for one value; equal values have equal strings."""
    if isinstance(value, str):
        return f"str {value}"
    value = _plain(value)
    if isinstance(value, list | dict):
        return json.dumps(value, sort_keys=True, default=_text)
    return _text(value)


def is_missing(value: Any) -> bool:
    """Whether a value is None or NaN, as in a column of Arrow or pandas."""
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        # Not repr, which abbreviates large arrays.
        content = repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes()
        return f"ndarray {value.dtype.str} {value.shape} {sha256(content).hexdigest()}"
    return f"{type(value).__name__} {value!r}"


def _plain(value: Any) -> Any:
    """The value with floats replaced by equal integers, and numpy scalars by Python's."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value
