"""The JSON Schema of an operator's parameters."""

import math
import sys
import types
from dataclasses import MISSING, fields
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from jinx_pipeline.catalog.facts import default_of
from jinx_pipeline.operators.api.parameters import NotEmpty, Range, hints_of
from jinx_pipeline.operators.api.registry import operator_class

_PLAIN: dict[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    Path: "string",
    None: "null",
    type(None): "null",
}


def parameter_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of an operator's parameters.

    Raises:
        UnknownOperatorError: No operator has this name.
    """
    cls: Any = operator_class(name)
    texts, hints = _attributes(cleandoc(cls.__doc__ or "")), hints_of(cls)
    properties: dict[str, Any] = {}
    needed: list[str] = []
    for field in fields(cls):
        schema = type_schema(hints[field.name])
        if field.name in texts:
            schema["description"] = texts[field.name]
        if field.default is MISSING and field.default_factory is MISSING:
            needed.append(field.name)
        elif _is_plain(default := default_of(field)):
            schema["default"] = default
        properties[field.name] = schema
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def type_schema(hint: Any) -> dict[str, Any]:
    """The JSON Schema of a parameter's type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = type_schema(arguments[0])
        for constraint in arguments[1:]:
            _constrain(schema, constraint)
        return schema
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in {Union, types.UnionType}:
        return {"anyOf": [type_schema(argument) for argument in arguments]}
    if origin in {list, tuple}:
        return {"type": "array", "items": type_schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": type_schema(arguments[1])}
    return {"type": _PLAIN[hint]} if hint in _PLAIN else {}


def _constrain(schema: dict[str, Any], constraint: Any) -> None:
    if isinstance(constraint, Range):
        schema["minimum"] = constraint.low
        if math.isfinite(constraint.high) and not constraint.or_no_limit:
            schema["maximum"] = constraint.high
    elif isinstance(constraint, NotEmpty):
        schema["minLength" if schema.get("type") == "string" else "minItems"] = 1


def _is_plain(value: Any) -> bool:
    """Whether a default is shown. Values that mean no limit (infinity, the largest integer) are not."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return math.isfinite(value) and abs(value) < sys.maxsize
    return value is None or isinstance(value, str | bool | list | dict)


def _attributes(text: str) -> dict[str, str]:
    """The descriptions under "Attributes:" of a docstring."""
    found: dict[str, str] = {}
    name = ""
    for line in text.partition("\nAttributes:\n")[2].splitlines():
        if line.startswith("        ") and name:
            found[name] += f" {line.strip()}"
        elif line.startswith("    "):
            name, _, description = line.strip().partition(": ")
            found[name] = description
        elif line.strip():
            break
    return found
