"""Aspect ratios as parameters: `"16:9"`, `"16/9"` or a number."""

from fractions import Fraction

from jinx_pipeline.operators.api.parameters import ParameterError


def ratio_of(operator: str, parameter: str, ratio: float | str) -> Fraction:
    """An aspect ratio as an exact fraction.

    Raises:
        ParameterError: It is not a positive ratio.
    """
    try:
        fraction = Fraction(str(ratio).replace(":", "/"))
    except (ValueError, ZeroDivisionError):
        fraction = Fraction(0)
    if fraction <= 0:
        raise ParameterError(operator, parameter, f"{parameter} is {ratio!r}; write for instance '16:9' or 1.5")
    return fraction


def check_ratios(operator: str, low: float | str, high: float | str) -> None:
    """Refuse `min_ratio` and `max_ratio` if they are not ratios, or if no ratio lies between them.

    Raises:
        ParameterError: They are not.
    """
    if ratio_of(operator, "min_ratio", low) > ratio_of(operator, "max_ratio", high):
        raise ParameterError(operator, "min_ratio", f"min_ratio {low} is above max_ratio {high}")
