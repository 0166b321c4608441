"""What functions return as sort keys."""

from collections.abc import Iterable, Iterator
from typing import Any

from jinx._arguments import encodable
from jinx._sizes import counted


def checked_key(value: Any, sample: int) -> Any:
    """A key.

    Raises:
        TypeError: It is none.
        ValueError: It is a string with lone surrogates.
    """
    for one in _parts(value):
        is_number = isinstance(one, int | float) or hasattr(one, "__index__") or hasattr(one, "__float__")
        if not (one is None or is_number or isinstance(one, str)):
            kind = type(one).__name__
            raise TypeError(
                f"sample {sample}: a sort key of type {kind}; a key is a number, a string, None, or a tuple of them"
            )
        if isinstance(one, str):
            encodable(f"sample {sample}: the sort key", one)
    return value


def keys_in(value: Any) -> int:
    """How many keys a value is."""
    return len(_parts(value))


def alike(blocks: Iterable[list[Any]], count: int) -> Iterator[list[Any]]:
    """Blocks whose values are all as many keys.

    Raises:
        ValueError: A value is more or fewer keys.
    """
    start = 0
    for block in blocks:
        for sample, value in enumerate(block, start):
            if keys_in(value) != count:
                here, first = counted(keys_in(value), "key"), counted(count, "key")
                raise ValueError(
                    f"the key function returns {here} for sample {sample} and {first} for sample 0; write None where a "
                    "tuple lacks a key"
                )
        yield block
        start += len(block)


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]
