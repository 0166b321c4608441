"""Makes a step of a recipe from a name and parameters, and reports the place of each mistake."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import UnknownOperatorError, operator_class
from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.recipe.model import REQUESTS, RequestError, Step, with_requests
from jinx_pipeline.recipe.read_models import with_models

Problems = list[tuple[Place, str]]


def step_of(
    name: str,
    values: Mapping[str, Any],
    place: Place,
    parameter_places: Mapping[str, Place],
    problems: Problems,
    *,
    models: Mapping[str, Model],
) -> Step | None:
    """The step for an operator; None if there are mistakes, which are added to `problems`.

    Args:
        name: The name of the operator.
        values: Its parameters and the settings in `REQUESTS`.
        place: The place of the operator in the recipe.
        parameter_places: The place of each value.
        problems: Receives the mistakes.
        models: The models that parameters can name.

    Raises:
        UnknownOperatorError: No operator has this name.
    """
    requests = {key: value for key, value in values.items() if key in REQUESTS}
    parameters = {key: value for key, value in values.items() if key not in REQUESTS}
    try:
        cls = operator_class(name)
        parameters = with_models(cls, parameters, models)
        return with_requests(Step(cls(**parameters), place, parameter_places), **requests)
    except UnknownOperatorError:
        raise
    except RequestError as error:
        problems.append((parameter_places.get(error.name, place), f"{name}: {error}"))
    except ParameterError as error:
        problems += _parameter_problems(name, parameters, place, parameter_places, error)
    except (ImportError, OSError, TypeError, ValueError) as error:
        problems.append((place, f"{name}: {error}"))
    return None


def _parameter_problems(
    name: str, parameters: Mapping[str, Any], place: Place, parameter_places: Mapping[str, Place], error: ParameterError
) -> Problems:
    """All mistakes in an operator's parameters, found by leaving out each wrong parameter in turn."""
    remaining, problems = dict(parameters), Problems()
    while True:
        problems.append((parameter_places.get(error.parameter, place), str(error)))
        if error.parameter not in remaining:
            return problems
        del remaining[error.parameter]
        try:
            operator_class(name)(**remaining)
        except ParameterError as next_error:
            if next_error.parameter == error.parameter:  # the error was about the parameter that is left out now
                return problems
            error = next_error
        except (ImportError, OSError, TypeError, ValueError):
            return problems
        else:
            return problems
