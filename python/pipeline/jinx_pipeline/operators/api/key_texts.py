"""Keys of any type as strings, so that equal keys are equal strings and can be hashed."""

import json
from collections.abc import Sequence
from typing import Any


def key_texts(columns: Sequence[Sequence[Any]], count: int) -> list[str]:
    """A string for each sample: 1 and 1.0 are the same key, also in lists and dicts; True and "1" are different keys.

    Args:
        columns: The values of each part of the key.
        count: The number of samples.
    """
    if not columns:
        return [""] * count
    if len(columns) == 1:
        return [_text(value) for value in columns[0]]
    return [json.dumps([_text(value) for value in key]) for key in zip(*columns, strict=True)]


def present_key_texts(columns: Sequence[Sequence[Any]], count: int) -> list[str | None]:
    """Like `key_texts`, but None if a part of the key is missing."""
    texts = key_texts(columns, count)
    missing = [any(value is None or value != value for value in key) for key in zip(*columns, strict=True)]  # noqa: PLR0124 - NaN
    return [None if is_missing else text for is_missing, text in zip(missing, texts, strict=True)]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return f"str {value}"
    value = _plain(value)
    if isinstance(value, list | dict):
        return json.dumps(value, sort_keys=True, default=repr)
    return f"{type(value).__name__} {value!r}"


def _plain(value: Any) -> Any:
    """The value with floats replaced by equal integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(element) for element in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value
