"""A digest of a function: its bytecode, constants, defaults and the values that it closes over."""

import types
from hashlib import sha256
from typing import Any


def code_digest(function: Any) -> str:
    """32 hex digits that another body, default or closed-over value would change; file names and lines do not count."""
    return sha256(repr(_described(function, set())).encode()).hexdigest()[:32]


def _described(value: Any, seen: set[int]) -> Any:  # noqa: PLR0911 - one for each type
    """Something whose repr says what the value does, the same in every process."""
    if id(value) in seen:
        return "..."
    if isinstance(value, types.CodeType):
        return (
            value.co_code.hex(),
            [_described(constant, seen) for constant in value.co_consts],
            value.co_names,
            value.co_varnames,
            value.co_freevars,
        )
    if isinstance(value, types.FunctionType):
        seen = {*seen, id(value)}
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        globals_ = {name: value.__globals__[name] for name in value.__code__.co_names if name in value.__globals__}
        return (
            _described(value.__code__, seen),
            _described(value.__defaults__, seen),
            _described(value.__kwdefaults__, seen),
            [_described(cell, seen) for cell in cells],
            {name: _described(one, seen) for name, one in sorted(globals_.items())},
        )
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if isinstance(value, type):
        members = {name: member for name, member in vars(value).items() if callable(member)}
        return (
            value.__module__,
            value.__qualname__,
            {name: _described(member, {*seen, id(value)}) for name, member in sorted(members.items())},
        )
    if isinstance(value, frozenset | set):
        return sorted(map(repr, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, dict):
        return [(repr(key), _described(one, seen)) for key, one in value.items()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_described(one, seen) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    return (
        type(value).__module__,
        type(value).__qualname__,
        _described(getattr(value, "__dict__", {}), {*seen, id(value)}),
    )
