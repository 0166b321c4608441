"""Reads the section `models` of a recipe, and replaces the names in operators' parameters."""

import re
from collections.abc import Mapping
from typing import Any, Final

from jinx._suggest import hint
from jinx_pipeline.operators.api.arguments import group_in
from jinx_pipeline.operators.api.model import Model, takes_model
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError, hints_of
from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.recipe.yaml_text import Located

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def read_models(
    section: Located | None, paths: Mapping[str, str], problems: list[tuple[Place, str]]
) -> dict[str, Model]:
    """The models of a recipe by name.

    Args:
        section: A mapping from names to models, each a mapping or a path; None if there are none.
        paths: Paths that replace those of the section.
        problems: Receives mistakes.
    """
    known = section.children if section is not None and isinstance(section.value, dict) else {}
    for name in paths:
        if name not in known:
            listed = ", ".join(map(str, known))
            advice = hint(name, map(str, known)) or (f"; it has: {listed}" if known else "")
            problems.append((Place(), f"the recipe has no model {name!r}{advice}"))
    if section is None or section.value is None:
        return {}
    if not isinstance(section.value, dict):
        problems.append((section.place, "models is a mapping from names to models"))
        return {}
    models: dict[str, Model] = {}
    for name, entry in section.children.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            problems.append((entry.place, f"a model is named with letters, digits, _, - and ., not {name!r}"))
            continue
        values: Any = {"path": entry.value} if isinstance(entry.value, str) else entry.value
        if not isinstance(values, dict):
            problems.append((entry.place, f"the model {name} is a path or a mapping with path or url"))
            continue
        try:
            models[name] = Model.of({**values, "path": paths.get(name, values.get("path", ""))}, name=name)
        except (TypeError, ValueError) as error:
            wrong = next((key for key in entry.children if re.match(rf"{key}\b", str(error))), None)
            place = entry.place if wrong is None else entry.children[wrong].place
            problems.append((place, f"the model {name}: {error}"))
    return models


def with_models(cls: type[Operator], values: Mapping[str, Any], models: Mapping[str, Model]) -> dict[str, Any]:
    """The parameters of an operator, with names and mappings of models replaced by models.

    Args:
        cls: The class of the operator.
        values: The parameters as they are in the recipe.
        models: The models of the recipe.

    Raises:
        ParameterError: A mapping is not a model.
    """
    return _with_models(cls.name, cls, values, models)


def _with_models(
    operator: str, cls: type[Any], values: Mapping[str, Any], models: Mapping[str, Model]
) -> dict[str, Any]:
    hints = hints_of(cls)
    replaced = dict(values)
    for parameter, value in values.items():
        hint = hints.get(parameter)
        group = group_in(hint)
        if group is not None and isinstance(value, Mapping):
            replaced[parameter] = _with_models(operator, group, value, models)  # pyright: ignore[reportUnknownArgumentType]
        if not takes_model(hint):
            continue
        if isinstance(value, str):
            replaced[parameter] = models.get(value, value)
        elif isinstance(value, Mapping):
            try:
                replaced[parameter] = Model.of(value)  # pyright: ignore[reportUnknownArgumentType]
            except (TypeError, ValueError) as error:
                raise ParameterError(operator, parameter, f"the parameter {parameter!r}: {error}") from None
    return replaced
