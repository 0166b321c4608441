"""Keys of any kind as texts, so that equal keys are equal texts and can be hashed."""

import json
from collections.abc import Callable, Sequence
from typing import Any


def exact_texts(columns: Sequence[Sequence[Any]], count: int) -> list[str]:
    """A text for each sample: 1, 1.0 and True are different keys, and so are lists with different elements.

    Args:
        columns: The values of each part of the key.
        count: How many samples there are.
    """
    return _texts(columns, count, _exact)


def equal_texts(columns: Sequence[Sequence[Any]], count: int) -> list[str | None]:
    """As `exact_texts`, but 1 and 1.0 are the same key; None where a part of the key is missing."""
    texts = _texts(columns, count, _equal)
    missing = [any(value is None or value != value for value in key) for key in zip(*columns, strict=True)]  # noqa: PLR0124 - NaN
    return [None if lacks else text for lacks, text in zip(missing, texts, strict=True)]


def _texts(columns: Sequence[Sequence[Any]], count: int, text: Callable[[Any], str]) -> list[str]:
    if not columns:
        return [""] * count
    if len(columns) == 1:
        return [text(value) for value in columns[0]]
    return [json.dumps([text(value) for value in key]) for key in zip(*columns, strict=True)]


def _exact(value: Any) -> str:
    if isinstance(value, str):
        return f"str {value}"
    if isinstance(value, list | dict):
        return json.dumps(value, sort_keys=True, default=repr)
    if isinstance(value, float):
        value += 0.0  # -0.0 is 0.0
    return f"{type(value).__name__} {value!r}"


def _equal(value: Any) -> str:
    return _exact(int(value) if isinstance(value, float) and value.is_integer() else value)
