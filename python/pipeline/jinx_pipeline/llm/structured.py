"""Reads answers that should be JSON of a schema; what does not fit is reported, never guessed."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jinx_pipeline.optional import require

# The output of a reasoning model may begin with its thoughts.
_THOUGHTS: Final = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCED: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL)
MAX_CHARACTERS: Final = 500_000
"""The longest answer that is used."""
_SHOWN: Final = 200
_STRICT_KEYWORDS: Final = frozenset(
    {"type", "description", "properties", "required", "additionalProperties", "items", "enum", "minimum", "maximum"}
)


@dataclass(frozen=True)
class Parsed:
    """An answer, as far as it was understood.

    Attributes:
        value: The value; None if the answer was not understood.
        how: How it was found: `json`, `fenced` in a code block, `embedded` in a text; or `unparsed`.
        problem: Why it was not understood; empty if it was.
    """

    value: Any
    how: str
    problem: str = ""

    @property
    def is_good(self) -> bool:
        """Whether the answer was understood."""
        return not self.problem


class Form:
    """The expected form of answers.

    Args:
        schema: A JSON Schema.

    Raises:
        ValueError: It is not a JSON Schema.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        validators = require("jsonschema", extra="llm", what="An operator that asks a language model")
        self.schema = schema
        try:
            validators.Draft202012Validator.check_schema(schema)
        except validators.SchemaError as error:
            raise ValueError(f"not a JSON Schema: {error.message}") from None
        self._validator = validators.Draft202012Validator(schema)

    def parsed(self, text: str, finish: str = "stop") -> Parsed:
        """The parsed answer, understood or not.

        Args:
            text: The answer.
            finish: Why it ends; `length`: it was cut off.
        """
        if len(text) > MAX_CHARACTERS:
            return Parsed(None, "unparsed", f"the answer has {len(text):,} characters")
        text = _THOUGHTS.sub("", text).strip()
        if not text:
            return Parsed(None, "unparsed", "the answer is empty")
        problem = "the answer is not JSON"
        for how, part in _candidates(text):
            try:
                value = json.loads(part, parse_constant=_refuse)
            except (ValueError, RecursionError):
                continue
            fault = self._fault(value)
            if fault is None:
                return Parsed(value, how)
            problem = f"the answer does not fit the schema: {fault}"
        cut = ", and it was cut off" if finish == "length" else ""
        return Parsed(None, "unparsed", f"{problem}{cut}")

    def _fault(self, value: Any) -> str | None:
        try:
            error = next(self._validator.iter_errors(value), None)
        except RecursionError:
            return "it is nested too deeply"
        if error is None:
            return None
        path = ".".join(map(str, error.absolute_path))
        return f"{f'{path}: ' if path else ''}{error.message[:_SHOWN]}"


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The field of a request that tells a service the schema of the answer.

    Hosted services accept only a few keywords in strict schemas: `minLength` is left out (`Form` checks it), and a
    schema with any other keyword is not sent as strict.
    """
    sent = _sent(schema)
    shape = {"name": "answer", "schema": sent, "strict": is_strict(sent)}
    return {"type": "json_schema", "json_schema": shape}


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether hosted services take a schema as strict: every object has all its properties, and no others."""
    if not set(schema) <= _STRICT_KEYWORDS or not isinstance(schema.get("type"), str):
        return False
    properties: Mapping[str, Any] = schema.get("properties", {})
    if schema["type"] == "object":
        is_closed = schema.get("additionalProperties") is False
        return (
            is_closed
            and set(schema.get("required", ())) == set(properties)
            and all(map(is_strict, properties.values()))
        )
    return schema["type"] != "array" or is_strict(schema.get("items", {}))


def _sent(schema: Any) -> Any:
    """The schema without the keyword `minLength`, which may also be the name of a property."""
    if not isinstance(schema, Mapping):
        return schema
    sent: dict[str, Any] = {name: part for name, part in schema.items() if name != "minLength"}  # pyright: ignore[reportUnknownVariableType]
    if "properties" in sent:
        sent["properties"] = {name: _sent(part) for name, part in sent["properties"].items()}
    if "items" in sent:
        sent["items"] = _sent(sent["items"])
    return sent


def _candidates(text: str) -> list[tuple[str, str]]:
    """The parts of an answer that may be the JSON; one of each kind, so that a hostile answer takes no longer."""
    found = [("json", text)]
    fenced = _FENCED.search(text)
    if fenced is not None:
        found.append(("fenced", fenced[1]))
    for first, last in ("{}", "[]"):
        start, stop = text.find(first), text.rfind(last)
        if 0 <= start < stop:
            found.append(("embedded", text[start : stop + 1]))
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
