"""Recipes as plain data, from which they can be read again."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Options, Recipe, SourceSpec, Step


def as_data(recipe: Recipe) -> dict[str, Any]:
    """A recipe as data for JSON; functions of operators are only represented by name."""
    defaults = asdict(Options())
    options = {name: value for name, value in asdict(recipe.options).items() if value != defaults[name]}
    if recipe.graph is not None:
        sections: dict[str, Any] = {"dataset": asdict(recipe.roles), **recipe.graph}
    else:
        sections = {
            "dataset": {"sources": [_source(source) for source in recipe.sources], **asdict(recipe.roles)},
            "process": [{step.operator.name: {**step.operator.parameters, **_requests(step)}} for step in recipe.steps],
            "export": None if recipe.export is None else asdict(recipe.export),
        }
    data: dict[str, Any] = {
        **sections,
        "validators": [validator.to_data() for validator in recipe.validators],
        "models": {name: model.to_data() for name, model in recipe.models.items()},
        **options,
        "only_rows": recipe.only_rows,
        "measure_only": recipe.measure_only,
        "known_stats": dict(recipe.known_stats),
        "has_branches": recipe.has_branches and recipe.graph is None,
    }
    return json.loads(json.dumps(data, default=_function))


def _source(source: SourceSpec) -> dict[str, Any]:
    data = asdict(source)
    query = data.pop("query")
    if query is None:
        return data
    del data["path"]  # it is the name of the query
    return {**query, **data}


def from_data(data: Mapping[str, Any], **overrides: Any) -> Recipe:
    """The recipe from data made by `as_data`.

    Raises:
        RecipeError: It has operators that run functions of a script, or branches.
    """
    from jinx_pipeline.recipe.read import recipe_of

    sections = dict(data)
    only_rows, measure_only = sections.pop("only_rows"), sections.pop("measure_only")
    known_stats = sections.pop("known_stats")
    if sections.pop("has_branches", False):
        raise RecipeError([(Place(), "the recipe has branches; resume by running the script again that made it")])
    for number, step in enumerate(sections.get("process", ())):
        for name, parameters in step.items():
            if any(isinstance(value, dict) and "function" in value for value in parameters.values()):
                problem = f"{name} runs a function of a script; resume by running the script again"
                raise RecipeError([(Place(path=f"process[{number}]"), problem)])
    recipe = recipe_of(sections, **overrides)
    rows = None if only_rows is None else tuple(only_rows)
    return replace(recipe, only_rows=rows, measure_only=measure_only, known_stats=known_stats)


def _requests(step: Step) -> dict[str, Any]:
    resources = step.given_resources
    return {
        **({} if resources is None else {"resources": asdict(resources)}),
        **({} if step.batch_rows is None else {"batch_rows": step.batch_rows}),
    }


def _function(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_data()
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)  # pyright: ignore[reportUnknownArgumentType]
    return {"function": getattr(value, "__qualname__", repr(value))}
