"""The strict JSON Schema of a model's answer: steps with just the operators that were found."""

from collections.abc import Sequence
from typing import Any

from jinx_pipeline.catalog.schema import parameter_schema

# Keywords that the strict modes of services reject.
_NOT_STRICT = {"default", "minimum", "maximum", "minLength", "minItems"}


def answer_schema(operators: Sequence[str]) -> dict[str, Any]:
    """The schema of an answer.

    Every parameter is required, as strict modes want it; null stands for its default.
    """
    steps = [
        _object({"operator": {"type": "string", "enum": [name]}, "parameters": _strict(name)}) for name in operators
    ]
    return _object({"steps": {"type": "array", "items": {"anyOf": steps}}})


def given_parameters(step: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a step that are not null."""
    return {name: value for name, value in (step.get("parameters") or {}).items() if value is not None}


def _strict(name: str) -> dict[str, Any]:
    schema = parameter_schema(name)
    needed = set(schema["required"])
    properties = {
        parameter: (kind if parameter in needed else {"anyOf": [kind, {"type": "null"}]})
        for parameter, kind in ((key, _plain(value)) for key, value in schema["properties"].items())
    }
    return _object(properties)


def _plain(schema: Any) -> Any:
    """A schema without keywords that strict modes do not accept."""
    if isinstance(schema, dict):
        plain = {name: _plain(value) for name, value in schema.items() if name not in _NOT_STRICT}
        is_open = plain.get("type") == "object" and "properties" not in plain
        # Objects with any keys, and values of any type, are written as JSON in a string.
        return {"type": "string", "description": "JSON"} if is_open or not plain else plain
    return [_plain(element) for element in schema] if isinstance(schema, list) else schema


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
