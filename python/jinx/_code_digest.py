"""A digest of a user function: of its code, and of the values that the code uses."""

import copyreg
import dis
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from jinx import _core

_OURS = frozenset({"jinx", "jinx_pipeline"})  # wherever they are: a version of them may be run from a clone
_ATOMS = (bool, int, float, complex, str, bytes, bytearray, types.EllipsisType, types.NotImplementedType)
_READS_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_PICKLE_PROTOCOL = 4
# Members of every class that do not affect what the class does.
_ABOUT_CLASSES = frozenset(
    {
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__slotnames__",  # pickle stores slot names here
        "__static_attributes__",
        "__weakref__",
        "_abc_impl",
    }
)


@cache
def _installed() -> tuple[str, ...]:
    """Code in these directories only changes when a package is installed."""
    import sysconfig  # which reads a file of 50 kB

    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class NoStableFormError(Exception):
    """A value that cannot be identified in another process: an open file, a lock, a connection."""


def code_digest(function: Callable[..., Any]) -> str:
    """A digest of 32 hex digits that changes with the code, a default, a closed-over value or a global value.

    User functions that it calls count completely; a module of the user that it imports when it runs counts with its
    file, and an installed package by name only. File paths, line numbers, comments and type hints do not count. Another
    version of Python gives another digest.

    Raises:
        NoStableFormError: The function uses a value that has no stable form across processes; the message names it.
    """
    try:
        return _Digest().of(function, getattr(function, "__qualname__", type(function).__qualname__))
    except RecursionError:
        raise NoStableFormError("values that are nested too deeply") from None


class _Digest:
    """The digests of values, each computed once."""

    def __init__(self) -> None:
        # The value is kept alive, so that no other value gets its id.
        self._digests: dict[int, tuple[Any, str]] = {}
        self._open: list[int] = []

    def of(self, value: Any, name: str) -> str:
        """The digest of a value; `name` is what the user calls it, for messages."""
        if value is None or type(value) in _ATOMS:
            return _hash(type(value).__name__, repr(value))
        if id(value) in self._open:  # the value contains itself
            return _hash("above", str(len(self._open) - self._open.index(id(value))))
        if id(value) not in self._digests:
            self._open.append(id(value))
            try:
                self._digests[id(value)] = value, _hash(*self._parts(value, name))
            finally:
                self._open.pop()
        return self._digests[id(value)][1]

    def _parts(self, value: Any, name: str) -> list[str]:
        described = _OF_TYPES.get(_type(value))
        if described is not None:
            return described(self, value, name)
        return self._of_class(value, name) if isinstance(value, type) else self._of_object(value, name)

    def _of_sequence(self, values: Any, name: str) -> list[str]:
        return [type(values).__name__, *(self.of(value, name) for value in values)]

    def _of_set(self, values: Any, name: str) -> list[str]:
        return [type(values).__name__, *sorted(self.of(value, name) for value in values)]

    def _of_dict(self, values: Any, name: str) -> list[str]:
        # Order matters: code that iterates over a dict depends on it.
        return [type(values).__name__, *(self.of(key, name) + self.of(value, name) for key, value in values.items())]

    def _of_method(self, method: types.MethodType, name: str) -> list[str]:
        return ["method", self.of(method.__func__, name), self.of(method.__self__, name)]

    def _of_descriptor(self, value: Any, name: str) -> list[str]:
        inner = (getattr(value, part, None) for part in ("__func__", "fget", "fset", "fdel"))
        return [type(value).__name__, *(self.of(part, name) for part in inner)]

    def _of_module(self, module: types.ModuleType, name: str) -> list[str]:
        del name
        return ["module", module.__name__]

    def _of_code(self, code: types.CodeType, name: str) -> list[str]:
        shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        constants = [self.of(constant, name) for constant in code.co_consts]
        return ["code", code.co_code.hex(), code.co_exceptiontable.hex(), repr(shape), repr(names), *constants]

    def _of_function(self, function: types.FunctionType, name: str) -> list[str]:
        where, code = [digested_name(function.__module__), function.__qualname__], function.__code__
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        closed = [self.of(_content(cell), free) for free, cell in cells]
        if is_installed(function.__module__):  # a decorator's wrapper may close over a user function
            return ["function", *where, *closed]
        values = function.__globals__
        read = [(key, values[key]) for key in sorted(_globals_in(code)) if key in values]
        members = _names_in(code)
        modules = sorted(set(_imports_in(code, values.get("__package__") or "")))
        return [
            "function",
            *where,
            self.of(code, name),
            self.of(function.__defaults__, name),
            self.of(function.__kwdefaults__, name),
            *closed,
            *(key + self._of_global(value, key, members) for key, value in read),
            *(module + _hash_of_file(file) for module in modules if (file := _file_of_user(module))),
        ]

    def _of_global(self, value: Any, name: str, members: Iterable[str]) -> str:
        if not isinstance(value, types.ModuleType) or is_installed(value.__name__):
            return self.of(value, name)
        # The names from a user module that the code may use.
        read = [(member, vars(value)[member]) for member in sorted(members) if member in vars(value)]
        return _hash(value.__name__, *(member + self.of(content, f"{name}.{member}") for member, content in read))

    def _of_class(self, kind: type, name: str) -> list[str]:
        where = [digested_name(kind.__module__), kind.__qualname__]
        if is_installed(kind.__module__):
            return ["class", *where]
        own = [(member, value) for member, value in sorted(vars(kind).items()) if member not in _ABOUT_CLASSES]
        slots = (types.MemberDescriptorType, types.GetSetDescriptorType)
        bases = [self.of(base, name) for base in (_type(kind), *kind.__bases__)]
        members = [
            member + ("" if isinstance(value, slots) or member == "__annotations__" else self.of(value, name))
            for member, value in own
        ]
        return ["class", *where, *bases, *members]

    def _of_object(self, value: Any, name: str) -> list[str]:
        """What pickle would store of an object, part by part: the bytes of a pickle depend on more than its values."""
        kind = _type(value)
        if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, types.ModuleType | None):
            return ["builtin", digested_name(value.__module__), value.__qualname__]
        reduce = copyreg.dispatch_table.get(kind)
        try:
            reduced: Any = reduce(value) if reduce else value.__reduce_ex__(_PICKLE_PROTOCOL)
        except RecursionError:
            raise
        except Exception as error:
            raise NoStableFormError(f"{name}, of type {kind.__module__}.{kind.__qualname__}") from error
        if isinstance(reduced, str):  # an object that its module holds under this name; it may be a wrapped function
            within = getattr(value, "__wrapped__", None)
            return ["object", digested_name(getattr(value, "__module__", None)), reduced, self.of(within, name)]
        parts: list[Any] = [list(part) if hasattr(part, "__next__") else part for part in reduced]
        return ["object", self.of(kind, name), *(self.of(part, name) for part in parts)]


_OF_TYPES: dict[type, Callable[[_Digest, Any, str], list[str]]] = {
    types.ModuleType: _Digest._of_module,
    types.CodeType: _Digest._of_code,
    types.FunctionType: _Digest._of_function,
    types.MethodType: _Digest._of_method,
    list: _Digest._of_sequence,
    tuple: _Digest._of_sequence,
    set: _Digest._of_set,
    frozenset: _Digest._of_set,
    dict: _Digest._of_dict,
    types.MappingProxyType: _Digest._of_dict,
    staticmethod: _Digest._of_descriptor,
    classmethod: _Digest._of_descriptor,
    property: _Digest._of_descriptor,
}


def _hash(*parts: str) -> str:
    return _core.hash_bytes("\0".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass"))


def _type(value: Any) -> type[Any]:
    return type(value)  # pyright: ignore[reportUnknownVariableType] - a value of any type


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the value is not set yet
        return None


def _codes_in(code: types.CodeType) -> Iterable[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_in(constant)


def _globals_in(code: types.CodeType) -> set[str]:
    """The global names that a function and its inner functions read."""
    return {
        instruction.argval
        for inner in _codes_in(code)
        for instruction in dis.get_instructions(inner)
        if instruction.opname in _READS_GLOBAL
    }


def _names_in(code: types.CodeType) -> set[str]:
    return {name for inner in _codes_in(code) for name in inner.co_names}


def _imports_in(code: types.CodeType, package: str) -> Iterator[str]:
    """The modules that a function imports when it runs, and names in them, which may also be modules."""
    for inner in _codes_in(code):
        before: list[Any] = [0, None]
        for instruction in dis.get_instructions(inner):
            if instruction.opname == "IMPORT_NAME":
                level, names = before
                try:
                    module = resolve_name("." * level + instruction.argval, package)
                except ImportError:
                    continue  # the function will raise this error too
                yield from (module, *(f"{module}.{name}" for name in names or ()))
            before = [before[1], instruction.argval]


def _file_of_user(module: str) -> str | None:
    """The file of a module, found without importing it; None if there is none, or if only the module's name counts."""
    parts = module.split(".")
    found, places = None, None
    for end in range(1, len(parts) + 1):
        found = PathFinder.find_spec(".".join(parts[:end]), places)
        if found is None:
            return None
        places = found.submodule_search_locations
    file = None if found is None or not found.has_location else found.origin
    is_ours = parts[0] in _OURS or file is None or file.startswith(_installed())
    return None if is_ours else file


def _hash_of_file(file: str) -> str:
    return _core.hash_bytes(Path(file).read_bytes())


def digested_name(module: str | None) -> str:
    """The name of a module in digests.

    A module that was loaded from a file may have another one than in `sys.modules`, so that its path does not count.
    """
    return getattr(sys.modules.get(module or ""), "__digested_name__", module or "")


def is_installed(module: str | None) -> bool:
    """Whether the name of a module identifies its code: it is ours, part of Python, or part of an installed package."""
    if (module or "").partition(".")[0] in _OURS:
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if file is None:
        return module in sys.builtin_module_names
    return file.startswith(_installed())
