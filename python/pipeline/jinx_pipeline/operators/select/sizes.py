"""The number of elements to choose, given as a share, a number, or both."""

import math

from jinx_pipeline.operators.api.parameters import ParameterError


def check_size(operator: str, ratio: float | None, number: int | None, names: tuple[str, str]) -> None:
    """Refuse an invalid size.

    Args:
        operator: The operator's name.
        ratio: The share.
        number: The number.
        names: The names of the two parameters.

    Raises:
        ParameterError: Neither is given, or a value is out of range.
    """
    if ratio is None and number is None:
        raise ParameterError(operator, names[1], f"give {names[0]} or {names[1]}")
    if ratio is not None and not 0 <= ratio <= 1:
        raise ParameterError(operator, names[0], f"{names[0]} is {ratio}; it lies between 0 and 1")
    if number is not None and number < 0:
        raise ParameterError(operator, names[1], f"{names[1]} is {number}; it is not negative")


def size_of(count: int, ratio: float | None, number: int | None) -> int:
    """The size: the smaller of the share of `count`, rounded down, and the number."""
    sizes = [count]
    if ratio is not None:
        sizes.append(math.floor(ratio * count))
    if number is not None:
        sizes.append(number)
    return min(sizes)
