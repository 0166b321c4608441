"""Resolves a recipe after reading: loads the code that it names, and checks the files that its operators name.

Reading (`recipe/read.py`) does not run code and opens no files that a recipe names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import UnknownOperatorError, load_file
from jinx_pipeline.operators.api.unloaded_operator import UnloadedOperator
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.model import Recipe, Step
from jinx_pipeline.recipe.steps import Problems, step_of


def resolve(recipe: Recipe) -> Recipe:
    """The recipe with the operators of its files loaded, and all files that operators name checked.

    A recipe may be resolved again, which checks the files again.

    Raises:
        RecipeError: A file cannot be loaded, an operator is not in it, or a file does not fit the operator's
            parameters; a line for each mistake.
    """
    problems = _load_code(recipe)
    if problems:
        raise RecipeError(problems)
    steps = [_loaded(step, recipe.models, problems) for step in recipe.steps]
    problems += _problems_of_files([step for step in steps if step is not None])
    if problems:
        raise RecipeError(problems)
    return replace(recipe, steps=tuple(step for step in steps if step is not None))


def without_code(recipe: Recipe) -> Recipe:
    """The recipe with its files checked as by `resolve`, but without loading its code, here or on a worker.

    Raises:
        RecipeError: A file does not fit an operator's parameters.
    """
    problems = _problems_of_files(recipe.steps)
    if problems:
        raise RecipeError(problems)
    return replace(recipe, options=replace(recipe.options, custom_operators=()))


def _load_code(recipe: Recipe) -> Problems:
    problems = Problems()
    # A recipe built in Python has its operators already.
    if recipe.code_place is None:
        return problems
    for path in recipe.options.custom_operators:
        try:
            load_file(path)
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            problems.append((recipe.code_place, f"{path}: {type(error).__name__}: {error}"))
    return problems


def _loaded(step: Step, models: Mapping[str, Model], problems: Problems) -> Step | None:
    if not isinstance(step.operator, UnloadedOperator):
        return step
    try:
        given, places = step.operator.given, step.parameter_places
        return step_of(step.operator.name, given, step.place, places, problems, models=models)
    except UnknownOperatorError as error:
        problems.append((step.place, str(error)))
        return None


def _problems_of_files(steps: Sequence[Step]) -> Problems:
    problems = Problems()
    for step in steps:
        try:
            step.operator.resolve()
        except ParameterError as error:
            problems.append((step.parameter_places.get(error.parameter, step.place), str(error)))
        except (ImportError, OSError, TypeError, ValueError) as error:
            problems.append((step.place, f"{step.operator.name}: {error}"))
    return problems
