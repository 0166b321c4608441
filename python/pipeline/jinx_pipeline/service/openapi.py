"""The OpenAPI document of the REST interface, made from its operations and their types."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from jinx import __version__
from jinx_pipeline.service.operations import PROBLEM_TYPE, Operation
from jinx_pipeline.service.types import Problem

_REF = "#/components/schemas/{name}"


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """The OpenAPI document."""
    kinds = [kind for operation in operations for kind in (operation.query, operation.body, operation.answer) if kind]
    _, schemas = msgspec.json.schema_components([*dict.fromkeys(kinds), Problem], ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation, schemas)
    unused = {kind.__name__ for operation in operations if (kind := operation.query)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "jinx-pipeline", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in schemas.items() if name not in unused},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"\{(\w+)", operation.path)
    ]
    if operation.query is not None:
        schema = schemas[operation.query.__name__]
        needed = schema.get("required", [])
        parameters += [
            {"name": name, "in": "query", "required": name in needed, "schema": kind}
            for name, kind in schema["properties"].items()
        ]
    parameters += [
        {"name": name, "in": "header", "required": False, "description": text, "schema": {"type": "string"}}
        for name, text in operation.headers
    ]
    content: dict[str, Any] = {} if operation.answer is None else _schema(operation.answer)
    answers: dict[str, Any] = {
        str(operation.status): {"description": "Success.", "content": {operation.media_type: content}},
        "default": {"description": "An error.", "content": {PROBLEM_TYPE: _schema(Problem)}},
    }
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": answers,
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": _schema(operation.body)}}
    return described


def _schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {"schema": {"$ref": _REF.format(name=kind.__name__)}}
