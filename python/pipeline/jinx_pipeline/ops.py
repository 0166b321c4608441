"""Operators as classes: `jinx_pipeline.ops.TextLengthFilter(min_len=10)`; each is imported on first use."""

import re
from typing import TYPE_CHECKING

from jinx_pipeline.operators.api.registry import UnknownOperatorError, names, operator_class

if TYPE_CHECKING:
    from jinx_pipeline.operators.api.operator import Operator


def __getattr__(name: str) -> "type[Operator]":
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return operator_class(re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())
    except UnknownOperatorError as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    return sorted("".join(part.capitalize() for part in name.split("_")) for name in names())
