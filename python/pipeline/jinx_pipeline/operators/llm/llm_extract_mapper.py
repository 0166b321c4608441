"""Extracts the fields of a schema: the operator `llm_extract_mapper`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import msgspec

from jinx_pipeline.llm.prompt import Prompt
from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.parameters import NotEmpty, Words
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingAnyModel, as_text
from jinx_pipeline.operators.llm.mapping import RewritingMapper


@register("llm_extract_mapper", modality="text")
class LlmExtractMapper(AskingAnyModel, RewritingMapper):
    """Adds a column for each field of a schema that a language model finds in a sample: tables, persons, prices, ...

        create("llm_extract_mapper", input_keys=["text"], output_schema={"price": "the price in euros, a number"})

    Attributes:
        input_keys: The columns that the model sees.
        output_schema: For each new column what it holds: a description, or a JSON Schema.
    """

    input_keys: Words
    output_schema: Annotated[dict[str, Any], NotEmpty()]

    @property
    def keys(self) -> Mapping[str, str]:
        return {key: key for key in self.input_keys}

    @property
    def writes(self) -> tuple[str, ...]:
        return (*self.output_schema, META)

    def template(self, name: str | None = None) -> Prompt:
        fields = {key: _schema_of(value) for key, value in self.output_schema.items()}
        schema = {"type": "object", "additionalProperties": False, "required": list(fields), "properties": fields}
        return replace(super().template(name), schema=schema)

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        data = super().data(sample)
        if data is None:
            return None
        return {"data": "\n\n".join(f"{key}:\n{as_text(text)}" for key, text in data.items())}

    def given(self) -> Mapping[str, str]:
        return {"fields": msgspec.json.format(msgspec.json.encode(self.output_schema), indent=2).decode()}

    def columns(self, value: Any) -> Mapping[str, Any]:
        return value


def _schema_of(value: Any) -> dict[str, Any]:
    """The schema of a field; a field with only a description accepts any value that has no fields of its own."""
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType]
    return {"description": str(value), "type": ["string", "number", "boolean", "null", "array"], "items": {}}
