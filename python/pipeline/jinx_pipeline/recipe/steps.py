"""A step of a recipe made of a name and parameters, with the place of each mistake in them."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import UnknownOperatorError, operator_class
from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.recipe.model import REQUESTS, RequestError, Step, with_requests

Problems = list[tuple[Place, str]]


def step_of(
    name: str, given: Mapping[str, Any], place: Place, parameter_places: Mapping[str, Place], problems: Problems
) -> Step | None:
    """The step with an operator of this name; None if something is wrong, which is added to `problems`.

    Args:
        name: The operator's.
        given: Its parameters, and what the recipe wants for its workers, by the names in `REQUESTS`.
        place: Where the recipe names the operator.
        parameter_places: Where it names each of these.
        problems: Takes what is wrong.

    Raises:
        UnknownOperatorError: No operator has this name.
    """
    requests = {key: value for key, value in given.items() if key in REQUESTS}
    parameters = {key: value for key, value in given.items() if key not in REQUESTS}
    try:
        return with_requests(Step(operator_class(name)(**parameters), place, parameter_places), **requests)
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
    name: str, given: Mapping[str, Any], place: Place, parameter_places: Mapping[str, Place], error: ParameterError
) -> Problems:
    """All mistakes in an operator's parameters: each shows when those before it are left out."""
    left, problems = dict(given), Problems()
    while True:
        problems.append((parameter_places.get(error.parameter, place), str(error)))
        if error.parameter not in left:
            return problems
        del left[error.parameter]
        try:
            operator_class(name)(**left)
        except ParameterError as another:
            if another.parameter == error.parameter:  # now it is missing
                return problems
            error = another
        except (ImportError, OSError, TypeError, ValueError):
            return problems
        else:
            return problems
