"""The digest of a function: of its bytecode, constants, defaults and the values that it refers to."""

import pickle
import sys
import sysconfig
import types
from hashlib import sha256
from typing import Any

# Code in these directories only changes when a package is installed.
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def code_digest(function: Any) -> str:
    """A digest of 32 hex digits, which changes with the body, defaults or closed-over values of a function.

    File names and line numbers do not count. Called functions count too; for installed functions, only the name counts.
    """
    return sha256(repr(_described(function, set())).encode()).hexdigest()[:32]


def _described(value: Any, visited: set[int]) -> Any:
    """An object whose repr describes the value, and is the same in every process."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return value
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if id(value) in visited:
        return ("again", getattr(value, "__qualname__", type(value).__qualname__))
    visited.add(id(value))
    for kind, describe in _KINDS:
        if isinstance(value, kind):
            return describe(value, visited)
    return _of_object(value, visited)


def _of_code(value: types.CodeType, visited: set[int]) -> Any:
    constants = [_described(constant, visited) for constant in value.co_consts]
    return (value.co_code.hex(), constants, value.co_names, value.co_varnames, value.co_freevars)


def _of_function(value: types.FunctionType, visited: set[int]) -> Any:
    if _is_installed(value.__module__):
        return (value.__module__, value.__qualname__)
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    used = {name: value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__}
    return (
        _described(value.__code__, visited),
        _described(value.__defaults__, visited),
        _described(value.__kwdefaults__, visited),
        [_described(cell, visited) for cell in cells],
        [(name, _described(used_value, visited)) for name, used_value in sorted(used.items())],
    )


def _names(code: types.CodeType) -> set[str]:
    """The global names in a function and in its inner functions."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return {*code.co_names, *(name for inner_code in inner for name in _names(inner_code))}


def _of_class(value: type, visited: set[int]) -> Any:
    if _is_installed(value.__module__):
        return (value.__module__, value.__qualname__)
    members = [(name, member) for name, member in sorted(vars(value).items()) if isinstance(member, _OF_A_CLASS)]
    return (value.__qualname__, [(name, _described(member, visited)) for name, member in members])


def _of_object(value: Any, visited: set[int]) -> Any:
    kind = type(value)
    state = getattr(value, "__dict__", None)
    if state is None:
        try:
            state = sha256(pickle.dumps(value, 5)).hexdigest()
        except Exception:  # noqa: BLE001 - an object's own code may raise anything
            state = ""
    return (kind.__module__, kind.__qualname__, _described(kind, visited), _described(state, visited))


def _is_installed(module: str | None) -> bool:
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if file is None:
        return module in sys.builtin_module_names
    return file.startswith(_INSTALLED)


_OF_A_CLASS = (types.FunctionType, staticmethod, classmethod, property, bool, int, float, str, bytes, tuple)
_KINDS: list[tuple[Any, Any]] = [
    (types.CodeType, _of_code),
    (types.FunctionType, _of_function),
    (types.BuiltinFunctionType, lambda value, _: (value.__module__, value.__qualname__)),
    (
        types.MethodType,
        lambda value, visited: (_described(value.__func__, visited), _described(value.__self__, visited)),
    ),
    ((staticmethod, classmethod), lambda value, visited: _described(value.__func__, visited)),
    (property, lambda value, visited: [_described(accessor, visited) for accessor in (value.fget, value.fset)]),
    (type, _of_class),
    ((frozenset, set), lambda value, _: sorted(map(repr, value))),
    (dict, lambda value, visited: [(repr(key), _described(member, visited)) for key, member in value.items()]),
    ((list, tuple), lambda value, visited: [_described(element, visited) for element in value]),
]
