"""Operators by name: those of this package, of installed packages, and of files that a user names."""

import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from jinx._user_code import module_of
from jinx_pipeline.model.changed_input import ChangedInputError
from jinx_pipeline.operators.api.operator import Modality, Operator

C = TypeVar("C", bound=type[Operator])

GROUP = "jinx_pipeline.operators"
"""Entry points in this group are operators of other packages, by their names."""

FILE_MODULES = "jinx_pipeline_file_"
"""So begin the names of modules of files; what follows depends on what a file holds."""

_REGISTERED: dict[str, type[Operator]] = {}


class UnknownOperatorError(KeyError):
    """No operator has this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class ChangedFileError(ChangedInputError):
    """A file with operators is not the one that made the rows before."""

    def __init__(self, file: str) -> None:
        super().__init__(f"{file} has changed since the run began")


def register(name: str, *, modality: Modality = "any") -> Callable[[C], C]:
    """Make a class an operator that recipes name.

    Args:
        name: In lower case with underscores; a file with a built-in operator is called so too.
        modality: What kind of data it is about; it says what the operator reads if the class does not.
    """

    def registered(cls: C) -> C:
        known = _REGISTERED.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"two operators are called {name!r}: {known.__module__} and {cls.__module__}")
        cls.name = name
        cls.modality = modality
        _REGISTERED[name] = cls
        return cls

    return registered


def operator_class(name: str) -> type[Operator]:
    """The class of the operator `name`; its module is imported only now.

    Args:
        name: Its name; without its kind (`text_length` for `text_length_filter`) where only one operator is called so.

    Raises:
        UnknownOperatorError: There is none, or there are several; the message holds the nearest name.
    """
    name = full_name(name)
    if name not in _REGISTERED:
        if name in _built_in():
            import_module(_built_in()[name])
        elif name in _installed():
            cls = _installed()[name].load()
            _REGISTERED.setdefault(name, cls)
    if name not in _REGISTERED:
        near = get_close_matches(name, names(), n=1, cutoff=0.6)
        advice = f"; did you mean {near[0]!r}?" if near else "; `jinx-pipeline ops` lists all"
        raise UnknownOperatorError(f"no operator {name!r}{advice}")
    return _REGISTERED[name]


def full_name(name: str) -> str:
    """The name of an operator with its kind, where `name` is without; a name that no operator has stays as it is.

    Raises:
        UnknownOperatorError: Several operators are called so.
    """
    known = _known()
    if name in known:
        return name
    found = [one for kind in KINDS_OF_NAMES if (one := name + kind) in known]
    if len(found) > 1:
        raise UnknownOperatorError(f"several operators are called {name!r}: {', '.join(found)}")
    return found[0] if found else name


def create(name: str, **parameters: Any) -> Operator:
    """An operator by its name; the files that its parameters name are looked at.

        create("text_length_filter", min_len=10)

    Raises:
        UnknownOperatorError: There is none of this name.
        ParameterError: A parameter is unknown, missing or has another type, or names a file that does not fit.
    """
    made = operator_class(name)(**parameters)
    made.resolve()
    return made


def names() -> list[str]:
    """The names of all operators, sorted."""
    return sorted(_known())


def _known() -> set[str]:
    return {*_REGISTERED, *_built_in(), *_installed()}


def load_file(path: str | Path) -> list[str]:
    """Run a Python file that the user named, and return the names of the operators that it registers.

    Raises:
        FileNotFoundError: The file does not exist.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise FileNotFoundError(f"{path}: no such file of operators")
    before = set(_REGISTERED)
    module = module_of_file(file)
    return sorted(name for name, cls in _REGISTERED.items() if name not in before or cls.__module__ == module.__name__)


def module_of_file(file: Path) -> Any:
    """The module of a Python file, imported once for each content of the file."""
    from hashlib import sha256

    digest = sha256(str(file).encode() + b"\0" + file.read_bytes()).hexdigest()[:16]
    name = f"{FILE_MODULES}{digest}"
    if name in sys.modules:
        return sys.modules[name]
    if file.suffix != ".py":
        raise ImportError(f"{file} is not a Python file")
    before = dict(_REGISTERED)
    # An edited file replaces the operators that it registered before.
    forget_operators(lambda module: _is_of_file(module, file))
    try:
        return module_of(str(file), name)
    except BaseException:
        _REGISTERED.update(before)
        raise


def forget_operators(is_gone: Callable[[str], bool]) -> None:
    """Forget the operators of modules that are gone, by their names."""
    for name in [name for name, cls in _REGISTERED.items() if is_gone(cls.__module__)]:
        del _REGISTERED[name]


def _is_of_file(module: str, file: Path) -> bool:
    return module.startswith(FILE_MODULES) and getattr(sys.modules.get(module), "__file__", None) == str(file)


@lru_cache(maxsize=1)
def _built_in() -> dict[str, str]:
    """The modules of this package's operators by name: each lies in a directory, in a file of its name."""
    api = Path(__file__).parent
    files = (
        file
        for file in api.parent.glob("*/*.py")
        if file.parent != api and (file.stem in STEPS or file.stem.endswith(KINDS_OF_NAMES))
    )
    package = __name__.removesuffix(".api.registry")
    return {file.stem: f"{package}.{file.parent.name}.{file.stem}" for file in files}


KINDS_OF_NAMES = (
    "_mapper",
    "_filter",
    "_deduplicator",
    "_deduplicator_with_uid",
    "_selector",
    "_grouper",
    "_aggregator",
)
"""How the names of operators end ..."""

STEPS = frozenset({"join", "shuffle", "sort"})
"""... but for these, which are called as the commands of `jinx` that do the same."""


@lru_cache(maxsize=1)
def _installed() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=GROUP)}
