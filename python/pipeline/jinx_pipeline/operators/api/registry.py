"""Operators by name: from this package, from installed packages, and from files that a user names."""

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from jinx._urls import is_url
from jinx._user_code import module_of
from jinx_pipeline.model.changed_input import ChangedInputError
from jinx_pipeline.operators.api.operator import Modality, Operator

C = TypeVar("C", bound=type[Operator])

GROUP = "jinx_pipeline.operators"
"""The group of entry points for operators of other packages, by name."""

FILE_MODULES = "jinx_pipeline_file_"
"""The prefix of the names of modules of files; a digest of the content follows."""

_REGISTERED: dict[str, type[Operator]] = {}


class UnknownOperatorError(KeyError):
    """Raised when no operator has the given name."""

    def __str__(self) -> str:
        return str(self.args[0])


class ChangedFileError(ChangedInputError):
    """Raised when a file with operators has changed since the run began."""

    def __init__(self, file: str) -> None:
        super().__init__(f"{file} has changed since the run began")


def register(name: str, *, modality: Modality = "any") -> Callable[[C], C]:
    """Register a class as an operator that recipes can name.

    Args:
        name: A name in lower case with underscores; the file of a built-in operator has the same name.
        modality: The kind of data that it processes, which determines what it reads if the class does not say.
    """

    def register_class(cls: C) -> C:
        known = _REGISTERED.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"two operators are called {name!r}: {known.__module__} and {cls.__module__}")
        cls.name = name
        cls.modality = modality
        _REGISTERED[name] = cls
        return cls

    return register_class


def operator_class(name: str) -> type[Operator]:
    """The class of the operator `name`; its module is imported if necessary.

    Args:
        name: Its name; the kind may be left out (`text_length` for `text_length_filter`) if the rest is unique.

    Raises:
        UnknownOperatorError: No operator or several operators have this name; the message suggests the nearest name.
    """
    name = full_name(name)
    if name not in _REGISTERED:
        if name in _built_in():
            import_module(_built_in()[name])
        elif name in _installed():
            cls = _installed()[name].load()
            _REGISTERED.setdefault(name, cls)
    if name not in _REGISTERED:
        from difflib import get_close_matches

        near = get_close_matches(name, names(), n=1, cutoff=0.6)
        advice = f"; did you mean {near[0]!r}?" if near else "; `jinx-pipeline ops` lists all"
        raise UnknownOperatorError(f"no operator {name!r}{advice}")
    return _REGISTERED[name]


def full_name(name: str) -> str:
    """The name of an operator with its kind, which `name` may leave out; an unknown name is returned unchanged.

    Raises:
        UnknownOperatorError: Several operators have this name without the kind.
    """
    if name in _REGISTERED or name in _built_in():  # without a look at all installed packages
        return name
    known = _known()
    if name in known:
        return name
    matching = [candidate for kind in KINDS_OF_NAMES if (candidate := name + kind) in known]
    if len(matching) > 1:
        raise UnknownOperatorError(f"several operators are called {name!r}: {', '.join(matching)}")
    return matching[0] if matching else name


def create(name: str, **parameters: Any) -> Operator:
    """Create an operator by its name, and check the files that its parameters name.

        create("text_length_filter", min_len=10)

    Raises:
        UnknownOperatorError: There is no operator with this name.
        ParameterError: A parameter is unknown, missing or of another type, or names an invalid file.
    """
    operator = operator_class(name)(**parameters)
    operator.resolve()
    return operator


def names() -> list[str]:
    """The names of all operators, sorted."""
    return sorted(_known())


def _known() -> set[str]:
    return {*_REGISTERED, *_built_in(), *_installed()}


def load_file(path: str | Path) -> list[str]:
    """Run a user's Python file, and return the names of the operators that it registers.

    Args:
        path: The file, or the URL of one, which is copied to the mirror of this node first.

    Raises:
        FileNotFoundError: The file does not exist.
    """
    if is_url(str(path)):
        from jinx_pipeline.store.mirror import downloaded

        file, name = downloaded(str(path)), str(path)
    else:
        file = Path(path).resolve()
        name = str(file)
        if not file.is_file():
            raise FileNotFoundError(f"{path}: no such file of operators")
    before = set(_REGISTERED)
    module = module_of_file(file, name)
    return sorted(name for name, cls in _REGISTERED.items() if name not in before or cls.__module__ == module.__name__)


def module_of_file(file: Path, place: str | None = None) -> Any:
    """The module in a Python file, imported once for each version of its content.

    Args:
        file: The file.
        place: Its URL, if the file is a copy: pickled operators name the module, so that this name is the same on all
            nodes.
    """
    from hashlib import sha256

    content = file.read_bytes()
    digest = sha256((place or str(file)).encode() + b"\0" + content).hexdigest()[:16]
    name = f"{FILE_MODULES}{digest}"
    if name in sys.modules:
        return sys.modules[name]
    if file.suffix != ".py":
        raise ImportError(f"{file} is not a Python file")
    before = dict(_REGISTERED)
    # An edited file replaces the operators that it registered before.
    forget_operators(lambda module: _is_of_file(module, file))
    try:
        module: Any = module_of(str(file), name)
    except BaseException:
        _REGISTERED.update(before)
        raise
    # Without the path, so that a recipe keeps its digest when its files are moved.
    module.__digested_name__ = f"{FILE_MODULES}{sha256(content).hexdigest()[:16]}"
    return module


def forget_operators(is_gone: Callable[[str], bool]) -> None:
    """Forget the operators of modules for which `is_gone` returns true."""
    for name in [name for name, cls in _REGISTERED.items() if is_gone(cls.__module__)]:
        del _REGISTERED[name]


def _is_of_file(module: str, file: Path) -> bool:
    return module.startswith(FILE_MODULES) and getattr(sys.modules.get(module), "__file__", None) == str(file)


@lru_cache(maxsize=1)
def _built_in() -> dict[str, str]:
    """The modules of this package's operators by name: each is a file with the operator's name."""
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
    "_pipeline",
)
"""The suffixes of the names of operators ..."""

STEPS = frozenset({"join", "shuffle", "sort"})
"""... except these, which have the names of `jinx` commands that do the same."""


@lru_cache(maxsize=1)
def _installed() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}
