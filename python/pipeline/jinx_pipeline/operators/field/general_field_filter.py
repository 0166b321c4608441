"""Filters by a condition over fields: the operator `general_field_filter`."""

from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.condition_filter import ConditionFilter
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.field.expression import ExpressionError, parse

if TYPE_CHECKING:
    import numpy.typing as npt


@register("general_field_filter")
class GeneralFieldFilter(ConditionFilter):
    """Keeps samples for which a condition over their fields holds; an empty condition keeps all.

    The condition is written in Python's syntax with comparisons, `and`, `or`, `not`, constants, lists and fields with
    dots. It is parsed, not run as code. A comparison with a missing value is false, as in Data-Juicer; `== None` and
    `!= None` look for missing values.

        create("general_field_filter", filter_condition="1 < n <= 3 and lang != 'fr'")([{"n": 2, "lang": "en"}])
        # [{"n": 2, "lang": "en"}]

    Attributes:
        filter_condition: The condition.
    """

    filter_condition: str = ""

    def check(self) -> None:
        if self.filter_condition.strip():
            try:
                parse(self.filter_condition)
            except ExpressionError as error:
                raise ParameterError(self.name, "filter_condition", str(error)) from None

    @property
    def reads(self) -> tuple[str, ...]:
        return parse(self.filter_condition)[1] if self.filter_condition.strip() else ()

    def holds(self, batch: Batch) -> "npt.NDArray[np.bool_]":
        if not self.filter_condition.strip():
            return np.ones(len(batch), dtype=np.bool_)
        test, paths = parse(self.filter_condition)
        columns = [batch.column(path) for path in paths]
        rows = zip(*columns, strict=True) if columns else [()] * len(batch)
        return np.array([bool(test(dict(zip(paths, row, strict=True)))) for row in rows], dtype=np.bool_)
