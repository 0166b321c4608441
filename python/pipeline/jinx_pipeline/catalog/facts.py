"""Facts about an operator, for people and programs."""

from dataclasses import MISSING, Field, fields
from inspect import cleandoc
from typing import Any

from jinx_pipeline.operators.api.parameters import describe, hints_of
from jinx_pipeline.operators.api.registry import full_name, operator_class


def described(name: str) -> dict[str, Any]:
    """Facts about an operator.

    Raises:
        UnknownOperatorError: No operator has this name; the message suggests the nearest.
    """
    cls: Any = operator_class(name)
    hints = hints_of(cls)
    text = cleandoc(cls.__doc__ or "")
    return {
        "name": full_name(name),
        "kind": cls.kind,
        "modality": cls.modality,
        "summary": text.partition("\n")[0],
        "text": text,
        "stats": list(getattr(cls, "stats", {})),
        "parameters": [
            {
                "name": field.name,
                "type": describe(hints[field.name]),
                "needed": field.default is MISSING and field.default_factory is MISSING,
                "default": default_of(field),
            }
            for field in fields(cls)
        ],
    }


def default_of(field: "Field[Any]") -> Any:
    """The default of a parameter; None if it has none."""
    from jinx_pipeline.operators.api.model import Model

    if isinstance(field.default, Model):
        return field.default.path or field.default.model
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default
