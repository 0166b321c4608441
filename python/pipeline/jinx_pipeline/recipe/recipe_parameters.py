"""Parameters of a recipe: typed values that stand for `${name}` in its text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jinx._suggest import hint
from jinx_pipeline.operators.api.parameters import fitted
from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.recipe.yaml_text import Located

_TYPES: Final[dict[str, Any]] = {"str": str, "int": int, "float": float, "bool": bool, "list": list}
# `${name}`, and `$${`, which stands for `${` itself.
_REFERENCE: Final = re.compile(r"\$\$\{|\$\{([^}]*)\}")

Problems = list[tuple[Place, str]]


@dataclass(frozen=True)
class Values:
    """The values of the parameters of a recipe.

    Attributes:
        values: The values by name.
        problems: Receives mistakes.
    """

    values: Mapping[str, Any]
    problems: Problems

    def substituted(self, located: Located) -> Located:
        """The data with the values in place of `${name}`; keys stay as they are."""
        if located.children:
            children = {key: self.substituted(child) for key, child in located.children.items()}
            plain = {key: child.value for key, child in children.items()}
            value = list(plain.values()) if isinstance(located.value, list) else plain
            return Located(value, located.place, children)
        if not isinstance(located.value, str) or "${" not in located.value:
            return located
        whole = _REFERENCE.fullmatch(located.value)
        if whole is not None and whole[1] is not None:
            return _as_located(self._value(whole[1], located.place), located.place)
        text = _REFERENCE.sub(
            lambda match: "${" if match[1] is None else str(self._value(match[1], located.place)), located.value
        )
        return Located(text, located.place)

    def _value(self, name: str, place: Place) -> Any:
        if name in self.values:
            return self.values[name]
        known = ", ".join(self.values) or "none"
        self.problems.append((place, f"no parameter {name!r}{hint(name, self.values) or f'; there are: {known}'}"))
        return ""


def escaped(value: Any) -> Any:
    """Plain data in which `${` is escaped, so that it stands for itself."""
    if isinstance(value, Mapping):
        members: Mapping[Any, Any] = value
        return {key: escaped(member) for key, member in members.items()}
    if isinstance(value, list | tuple):
        elements: list[Any] = [*value]
        return [escaped(element) for element in elements]
    return value.replace("${", "$${") if isinstance(value, str) else value


def values_of(section: Located | None, given: Mapping[str, Located], problems: Problems, title: str) -> Values:
    """The values of the parameters that a recipe declares.

    Args:
        section: Its `parameters`: a default for each name, or a mapping with `type` and `default`.
        given: Values in place of the defaults.
        problems: Receives mistakes.
        title: The recipe, for messages.
    """
    declared = {} if section is None else section.children
    if section is not None and not isinstance(section.value, dict):
        problems.append((section.place, "a mapping: a default, or {type: ..., default: ...}, for each name"))
    for name, value in given.items():
        if name not in declared:
            known = f"; it has: {', '.join(map(str, declared))}" if declared else ""
            problems.append((value.place, f"{title} has no parameter {name!r}{hint(name, declared) or known}"))
    values: dict[str, Any] = {}
    for name, declaration in declared.items():
        values[name] = _value_of(name, declaration, given.get(name), problems)
    return Values(values, problems)


def _value_of(name: str, declaration: Located, given: Located | None, problems: Problems) -> Any:
    default, kind = declaration, None
    if isinstance(declaration.value, dict):
        default = declaration.get("default")
        type_name = declaration.value.get("type", "str" if default is None else None)
        unknown = [key for key in declaration.children if key not in {"type", "default"}]
        if unknown or (type_name is not None and type_name not in _TYPES):
            types = ", ".join(_TYPES)
            problems.append((declaration.place, f"{name}: a default, or a mapping with type ({types}) and default"))
            return None
        kind = None if type_name is None else _TYPES[type_name]
    chosen = given or default
    if chosen is None:
        problems.append((declaration.place, f"the parameter {name} has no default and no value; give it one"))
        return None
    if kind is None and default is not None and default.value is not None:
        kind = type(default.value)
    try:
        return chosen.value if kind is None else _fitted(chosen.value, kind)
    except TypeError as error:
        problems.append((chosen.place, f"{name} {error}"))
        return chosen.value


def _fitted(value: Any, kind: Any) -> Any:
    if kind is list:
        if not isinstance(value, list):
            raise TypeError(f"is a list, not {value!r}")
        return value  # pyright: ignore[reportUnknownVariableType] - holds plain data
    return fitted(value, kind)


def _as_located(value: Any, place: Place) -> Located:
    from jinx_pipeline.recipe.yaml_text import located

    return located(value, place)
