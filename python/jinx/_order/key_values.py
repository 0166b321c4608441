"""Checks the sort keys that functions return."""

from collections.abc import Iterable, Iterator
from typing import Any

from jinx._arguments import encodable
from jinx._sizes import counted


def checked_key(value: Any, sample: int) -> Any:
    """The value that a key function returned, if it is a sort key.

    Raises:
        TypeError: The value is not a number, a string, None or a tuple of these.
        ValueError: A string has lone surrogates.
    """
    for part in _parts(value):
        is_number = isinstance(part, int | float) or hasattr(part, "__index__") or hasattr(part, "__float__")
        if not (part is None or is_number or isinstance(part, str)):
            kind = type(part).__name__
            raise TypeError(
                f"sample {sample}: a sort key of type {kind}; a key is a number, a string, None, or a tuple of them"
            )
        if isinstance(part, str):
            encodable(f"sample {sample}: the sort key", part)
    return value


def keys_in(value: Any) -> int:
    """The number of keys in a value: 1, or the length of a tuple."""
    return len(_parts(value))


def alike(blocks: Iterable[list[Any]], count: int) -> Iterator[list[Any]]:
    """Yield blocks of values unchanged, after checking that all values have the same number of keys.

    Raises:
        ValueError: A value has more or fewer keys than the first one.
    """
    start = 0
    for block in blocks:
        for sample, value in enumerate(block, start):
            if keys_in(value) != count:
                this_count, first_count = counted(keys_in(value), "key"), counted(count, "key")
                raise ValueError(
                    f"the key function returns {this_count} for sample {sample} and {first_count} for sample 0; write "
                    "None where a tuple lacks a key"
                )
        yield block
        start += len(block)


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]
