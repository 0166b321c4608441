"""Which public names have no docstring."""

import inspect
import re
from collections.abc import Iterable, Iterator
from types import ModuleType


def undocumented(module: ModuleType, names: Iterable[str]) -> list[str]:
    """Names of the module, and public methods, properties and fields of its classes, without a docstring."""
    members = [pair for name in names for pair in _documentable(name, getattr(module, name))]
    return [path for path, text in members if not text]


def _documentable(name: str, value: object) -> Iterator[tuple[str, str | None]]:
    """Names and what documents each: a docstring, or of the field of a dataclass its line under "Attributes:"."""
    yield name, inspect.getdoc(value)
    if inspect.isclass(value):
        # A class inherits `object.__doc__` too.
        assert value.__doc__, f"{name} has no docstring of its own"
        fields = set(getattr(value, "__dataclass_fields__", ()))
        for field in sorted(fields):
            yield f"{name}.{field}", _attribute(inspect.getdoc(value) or "", field)
        for member in sorted(set(dir(value)) - fields):
            found = inspect.getattr_static(value, member)
            owner = next(base for base in value.__mro__ if member in vars(base))
            is_ours = owner.__module__.partition(".")[0] == "jinx"
            if is_ours and not member.startswith("_") and (callable(found) or hasattr(found, "__get__")):
                yield f"{name}.{member}", inspect.getdoc(getattr(value, member))


def _attribute(docstring: str, field: str) -> str | None:
    _, _, attributes = docstring.partition("\nAttributes:\n")
    found = re.search(rf"^    {field}: (\S.*)$", attributes, re.MULTILINE)
    return found and found[1]
