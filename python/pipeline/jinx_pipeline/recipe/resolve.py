"""Resolves a recipe after reading: loads the code that it names, and checks the files that its operators name.

Reading (`recipe/read.py`) does not run code and opens no files that a recipe names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.operator_kinds import GLOBAL_KINDS
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import UnknownOperatorError, load_file
from jinx_pipeline.operators.api.unloaded_operator import UnloadedOperator
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.make_operator import Problems, step_of
from jinx_pipeline.recipe.model import Recipe, Step, StepPort


def resolve(recipe: Recipe) -> Recipe:
    """The recipe with the operators from its files loaded, and all files that operators name checked.

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
    loaded = replace(recipe, steps=tuple(step for step in steps if step is not None))
    return _without_ports(loaded, _missing_ports(recipe, loaded))


def without_code(recipe: Recipe) -> Recipe:
    """The recipe with its files checked as by `resolve`, but without loading its code here or on a worker.

    Raises:
        RecipeError: A file does not fit an operator's parameters.
    """
    problems = _problems_of_files(recipe.steps)
    if problems:
        raise RecipeError(problems)
    return replace(recipe, options=replace(recipe.options, custom_operators=()))


def _load_code(recipe: Recipe) -> Problems:
    problems = Problems()
    # A recipe that was built in Python has its operators already.
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
        loaded = step_of(step.operator.name, given, step.place, places, problems, models=models)
        # The inputs and predecessors of the step are known since the recipe was read.
        return loaded and replace(loaded, inputs=step.inputs, after=step.after, name=step.name)
    except UnknownOperatorError as error:
        problems.append((step.place, str(error)))
        return None


def _missing_ports(unloaded: Recipe, loaded: Recipe) -> set[StepPort]:
    """The ports that operators might have had before their code was loaded, but do not have.

    A node collects what all its filters drop, and until their code is loaded any of its operators may be one.
    """
    changed = [number for number, step in enumerate(unloaded.steps) if isinstance(step.operator, UnloadedOperator)]
    operators = {number: loaded.steps[number].operator for number in changed}
    missing = {StepPort(number, "dropped") for number in changed if not isinstance(operators[number], Filter)}
    return missing | {StepPort(number, "failed") for number in changed if operators[number].kind in GLOBAL_KINDS}


def _without_ports(recipe: Recipe, missing: set[StepPort]) -> Recipe:
    """The recipe without readers of some ports; a reader that would have nothing left still reads them."""

    def left(ports: tuple[StepPort, ...]) -> tuple[StepPort, ...]:
        return tuple(port for port in ports if port not in missing) or ports

    steps = tuple(
        replace(step, inputs=step.inputs and left(step.inputs), after=left(step.after)) for step in recipe.steps
    )
    outputs = tuple(replace(output, inputs=left(output.inputs), after=left(output.after)) for output in recipe.outputs)
    return replace(recipe, steps=steps, outputs=outputs)


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
