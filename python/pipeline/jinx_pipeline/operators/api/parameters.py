"""Checks the types of an operator's parameters, with errors that name the operator and the parameter."""

import math
import sys
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin


@dataclass(frozen=True)
class Range:
    """The allowed numbers of a parameter: `min_score: Annotated[float, Range(0, 1)] = 0.8`.

    Attributes:
        low: The smallest number.
        high: The largest number; infinity itself is not allowed.
        or_no_limit: Whether infinity and `sys.maxsize` are also allowed and mean no limit.
    """

    low: float
    high: float = math.inf
    or_no_limit: bool = False

    def __contains__(self, number: float) -> bool:
        is_no_limit = self.or_no_limit and number >= sys.maxsize
        return is_no_limit or (self.low <= number <= self.high and math.isfinite(number))

    def __str__(self) -> str:
        return f"of at least {self.low:g}" if math.isinf(self.high) else f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class NotEmpty:
    """A string, list or dict that must not be empty or contain an empty string: `Annotated[list[str], NotEmpty()]`."""

    def __contains__(self, value: Any) -> bool:
        return len(value) > 0 and (isinstance(value, str) or "" not in value)

    def __str__(self) -> str:
        return "(not empty)"


class Converter(ABC):
    """Checks and converts the values of a parameter: `Annotated[Model, Kinds("transformers")]`."""

    @abstractmethod
    def converted(self, value: Any) -> Any:
        """The value that the operator receives.

        Raises:
            TypeError: The parameter cannot have this value.
        """


NGrams: TypeAlias = Annotated[int, Range(1, 1024)]
"""The number of elements of an n-gram or shingle, up to the limit of the kernels."""
Words: TypeAlias = Annotated[list[str], NotEmpty()]
"""A list of at least one word, column or path."""
Share: TypeAlias = Annotated[float, Range(0, 1)]
"""A share, such as the smallest that a filter keeps."""
ShareLimit: TypeAlias = Annotated[float, Range(0, 1, or_no_limit=True)]
"""The largest share that a filter keeps; Data-Juicer writes `sys.maxsize` for none."""


class ParameterError(ValueError):
    """Raised if an operator does not have a parameter, or cannot use its value.

    Attributes:
        operator: The operator's name.
        parameter: The parameter's name.
    """

    def __init__(self, operator: str, parameter: str, problem: str) -> None:
        super().__init__(f"{operator}: {problem}")
        self.operator = operator
        self.parameter = parameter


def checked(cls: type[Any], operator: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all fields of a dataclass: the parameters, with checked types, and the defaults.

    Raises:
        ParameterError: A name is unknown, a value has another type, or a parameter without a default is missing.
    """
    known = {field.name: field for field in fields(cls)}
    for name in parameters:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, n=1, cutoff=0.6)
            advice = f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(known) or 'no parameters'}"
            raise ParameterError(operator, name, f"no parameter {name!r}; {advice}")
    hints = hints_of(cls)
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name not in parameters:
            values[name] = _default(field, operator)
            continue
        try:
            values[name] = fitted(parameters[name], hints[name])
        except TypeError as error:
            raise ParameterError(operator, name, f"the parameter {name!r} {error}") from None
    return values


def check_bounds(operator: Any, low: str, high: str) -> None:
    """Refuse a lower and an upper bound if no number lies between them.

    Args:
        operator: The operator.
        low: The name of the parameter with the lower bound.
        high: The name of the parameter with the upper bound.

    Raises:
        ParameterError: No number lies between them.
    """
    least, largest = getattr(operator, low), getattr(operator, high)
    if not least <= largest or least == math.inf or largest == -math.inf:
        name = high if largest == -math.inf else low
        raise ParameterError(operator.name, name, f"{low} is {least} and {high} is {largest}; no value lies between")


def describe(hint: Any) -> str:
    """A readable type: `int`, `'any' or 'all'`, `float from 0 to 1`, `float or None`, `list of str`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        converters = [str(argument) for argument in arguments[1:] if isinstance(argument, Converter)]
        constraints = [str(argument) for argument in arguments[1:] if isinstance(argument, _CONSTRAINTS)]
        return " ".join(converters or [describe(arguments[0]), *constraints])
    members = [argument for argument in arguments if argument is not Ellipsis]
    words = [repr(member) if origin is Literal else describe(member) for member in members]
    if origin in {Literal, Union, types.UnionType}:
        return " or ".join(words)
    if origin in {list, tuple}:
        return f"list of {words[0]}"
    if origin is dict:
        return f"dict of {words[0]} to {words[1]}"
    if hint in {None, type(None)}:
        return "None"
    return "any value" if hint is Any else _NAMES.get(hint, getattr(hint, "__name__", str(hint)))


_NAMES: dict[Any, str] = {Path: "path"}
_CONSTRAINTS = (Range, NotEmpty)


def fitted(value: Any, hint: Any) -> Any:
    """The value converted to a type: an int to a float, a list to a tuple, a string to a path.

    Raises:
        TypeError: The value does not fit the type.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    for argument in arguments if origin is Annotated else ():
        if isinstance(argument, Converter):
            return argument.converted(value)
    if origin is None:
        fits, converted = _PLAIN.get(hint, _instance)(value, hint)
    else:
        fits, converted = _COMPOSED.get(origin, _of_protocol)(value, origin, arguments)
    if not fits:
        raise TypeError(f"is {describe(hint)}, not {_shown(value)}")
    return converted


def _instance(value: Any, hint: Any) -> tuple[bool, Any]:
    return hint is Any or isinstance(value, type(None) if hint is None else hint), value


def _float(value: Any, _: Any) -> tuple[bool, Any]:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(_as_float(value))
    return fits, _as_float(value) if fits else None


def _as_float(value: float) -> float:
    """A number as a float; integers beyond the range of floats become infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _int(value: Any, _: Any) -> tuple[bool, Any]:
    if isinstance(value, float) and value.is_integer():  # YAML reads 1.0e6 as a float
        return True, int(value)
    return isinstance(value, int) and not isinstance(value, bool), value


def _str(value: Any, _: Any) -> tuple[bool, Any]:
    return isinstance(value, str) and not _has_surrogates(value), value


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _path(value: Any, _: Any) -> tuple[bool, Any]:
    fits = isinstance(value, str | Path) and value != ""
    return fits, Path(value) if fits else None


def _of_protocol(value: Any, origin: Any, _: Any) -> tuple[bool, Any]:
    """Check types such as `Callable[...]`."""
    return isinstance(value, origin), value


def _ranged(value: Any, _: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        converted = fitted(value, arguments[0])
    except TypeError:
        return False, None
    constraints = [argument for argument in arguments[1:] if isinstance(argument, _CONSTRAINTS)]
    return all(converted in constraint for constraint in constraints), converted


def _literal(value: Any, _: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    return any(value == argument and type(value) is type(argument) for argument in arguments), value


def _union(value: Any, _: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    for argument in arguments:
        try:
            return True, fitted(value, argument)
        except TypeError:
            continue
    return False, None


def _sequence(value: Any, origin: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    fits = isinstance(value, list | tuple)
    return fits, origin(fitted(element, arguments[0]) for element in value) if fits else None


def _dict(value: Any, _: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    fits = isinstance(value, Mapping)
    pairs = value.items() if fits else ()
    return fits, {fitted(key, arguments[0]): fitted(element, arguments[1]) for key, element in pairs}


_PLAIN = {float: _float, int: _int, str: _str, Path: _path}
_COMPOSED = {
    Annotated: _ranged,
    Literal: _literal,
    Union: _union,
    types.UnionType: _union,
    list: _sequence,
    tuple: _sequence,
    dict: _dict,
}


def _shown(value: Any) -> str:
    if isinstance(value, float) and math.isnan(value):
        return "NaN, which cannot be compared"
    text = repr(value)
    if isinstance(value, str) and _has_surrogates(value):
        return f"{text[:60]}, which holds a surrogate that UTF-8 cannot encode"
    return f"{text[:60]}..." if len(text) > 60 else f"{text} ({type(value).__name__})"  # noqa: PLR2004 - fits into a line


def _default(field: "Field[Any]", operator: str) -> Any:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    raise ParameterError(operator, field.name, f"the parameter {field.name!r} is needed")


@lru_cache(maxsize=1024)
def hints_of(cls: type[Any]) -> dict[str, Any]:
    """The types of a dataclass's fields, including their ranges."""
    return typing.get_type_hints(cls, include_extras=True)
