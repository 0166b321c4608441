"""From a request to a checked recipe: search, one question to a model, and our checker's errors sent back to it."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from jinx_pipeline.ask.answer_schema import answer_schema, given_parameters
from jinx_pipeline.ask.chat_model import ChatModel, ModelError
from jinx_pipeline.ask.profile import Profile
from jinx_pipeline.catalog.search import Found, search_operators
from jinx_pipeline.catalog.trust import why_trusted
from jinx_pipeline.operators.api.registry import names, operator_class
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.recipe.resolve import without_code

_OFFERED: Final = 12
_ROUNDS: Final = 3
_SYSTEM: Final = (
    "You turn a request about a dataset into a list of operators, in the order in which they run. Use only what the "
    "request asks for. A parameter that is null has its default. Answer with JSON that fits the schema."
)


@dataclass(frozen=True)
class Proposal:
    """A checked recipe for a request.

    Attributes:
        data: The recipe, as plain data.
        recipe: The same, checked.
        offered: The operators that the model could choose from, the best first.
        rounds: How often the model was asked.
    """

    data: dict[str, Any]
    recipe: Recipe
    offered: tuple[str, ...]
    rounds: int

    @property
    def text(self) -> str:
        """The recipe as YAML."""
        return yaml.safe_dump(self.data, sort_keys=False, allow_unicode=True)


def offered_operators(request: str, allowed: Collection[str] = ()) -> list[Found]:
    """The operators that fit a request best, without those that run code or connect to servers."""
    refused = [name for name in names() if name not in allowed and why_trusted(operator_class(name))]
    return search_operators(request, _OFFERED, refused)


def propose(request: str, path: str, out: str, profile: Profile, model: ChatModel) -> Proposal:
    """Ask a model for a recipe.

    Args:
        request: What the user wants.
        path: The dataset.
        out: The output.
        profile: What the dataset holds.
        model: The model.

    Raises:
        ModelError: The model gave no recipe without mistakes, or nothing fits the request.
        HttpError: The model does not answer.
    """
    found = offered_operators(request)
    if not found:
        raise ModelError(f"no operator is about {request!r}; jinx-pipeline ops lists all")
    offered = tuple(operator.name for operator in found)
    schema = answer_schema(offered)
    messages = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": _question(request, profile, found)},
    ]
    problems = ""
    for number in range(1, _ROUNDS + 1):
        answer = model.answer(messages, schema)
        try:
            data = _recipe_data(answer, offered, path, out, profile.roles)
            return Proposal(data, without_code(recipe_of(data)), offered, number)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            problems = str(error)
        messages += [
            {"role": "assistant", "content": answer},
            {"role": "user", "content": f"This has mistakes:\n{problems}\nAnswer again, with all steps."},
        ]
    raise ModelError(f"after {_ROUNDS} answers the recipe still has mistakes: {problems}")


def _question(request: str, profile: Profile, found: list[Found]) -> str:
    operators = "\n\n".join(f"{operator.name}: {operator.facts['text']}" for operator in found)
    return f"Request: {request}\n\nThe dataset:\n{chr(10).join(profile.lines())}\n\nOperators:\n\n{operators}"


def _recipe_data(
    answer: str, offered: Collection[str], path: str, out: str, roles: Mapping[str, str]
) -> dict[str, Any]:
    """The recipe of an answer.

    Raises:
        ValueError: It is not JSON of the right form, or names an operator that was not offered.
    """
    try:
        steps = json.loads(answer)["steps"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"not JSON that fits the schema: {error}") from None
    if not isinstance(steps, list) or not steps or not all(isinstance(step, dict) for step in steps):
        raise ValueError("steps is a list of at least one step")
    unknown = [str(step.get("operator")) for step in steps if step.get("operator") not in offered]
    if unknown:
        raise ValueError(f"only these operators may be used: {', '.join(offered)}; not {', '.join(unknown)}")
    process = [{step["operator"]: _decoded(step["operator"], given_parameters(step))} for step in steps]
    return {"dataset": {"path": path, **roles}, "process": process, "export": {"path": out, "kind": "view"}}


def _decoded(operator: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters; those that the schema requires as JSON strings are decoded."""
    from jinx_pipeline.catalog.schema import parameter_schema

    kinds = parameter_schema(operator)["properties"]
    decoded = dict(parameters)
    for name, value in parameters.items():
        kind = kinds.get(name, {"type": "string"})
        if isinstance(value, str) and "string" not in json.dumps(kind) and value[:1] in {"{", "["}:
            decoded[name] = json.loads(value)
    return decoded
