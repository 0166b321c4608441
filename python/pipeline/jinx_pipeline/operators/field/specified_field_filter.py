"""Filters by a list of values: the operator `specified_field_filter`."""

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.condition_filter import ConditionFilter
from jinx_pipeline.operators.api.key_texts import key_text
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("specified_field_filter")
class SpecifiedFieldFilter(ConditionFilter):
    """Keeps samples whose value in a field is one of the given values; in a list, each element must be one.

    Without a field or without values all samples stay. A missing value is None. 1 and 1.0 are the same value; True and
    "1" are different values.

        create("specified_field_filter", field_key="lang", target_value=["en"])([{"lang": "en"}, {"lang": "fr"}])
        # [{"lang": "en"}]

    Attributes:
        field_key: A column or path.
        target_value: The values.
    """

    version = 2
    field_key: str = ""
    target_value: list[Any] = field(default_factory=list[Any])

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field_key,) if self.field_key else ()

    def holds(self, batch: Batch) -> "npt.NDArray[np.bool_]":
        if not self.field_key or not self.target_value:
            return np.ones(len(batch), dtype=np.bool_)
        targets = set(map(key_text, self.target_value))
        return np.array([_is_one_of(targets, value) for value in batch.column(self.field_key)], dtype=np.bool_)


def _is_one_of(targets: set[str], value: Any) -> bool:
    values = value if isinstance(value, list | tuple) else [value]
    return all(key_text(element) in targets for element in values)
