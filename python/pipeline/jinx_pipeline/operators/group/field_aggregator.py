"""Aggregates the fields of groups: the operator `field_aggregator`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.key_texts import is_missing
from jinx_pipeline.operators.api.operator_kinds import Aggregator
from jinx_pipeline.operators.api.parameters import NotEmpty, ParameterError
from jinx_pipeline.operators.api.registry import register


@register("field_aggregator")
class FieldAggregator(Aggregator):
    r"""Makes one sample from a group; its columns are computed from fields of the samples.

        create("field_aggregator", columns={"n": "count", "total": "sum:score", "all": "concat:text"})(
            [{"score": 1, "text": "a"}, {"score": 2, "text": "b"}]
        )
        # [{"n": 2, "total": 3, "all": "a\nb"}]

    Missing values are left out, and NaN is a missing value, as for sorts and joins; without values, the sum is 0, and
    the mean, minimum, maximum, first and joined value are None. `concat` joins strings with `separator`, and lists to
    one list.

    Attributes:
        columns: For each new column `"count"`, or an aggregation of a column or path: `"sum:PATH"`, `"mean:PATH"`,
            `"min:PATH"`, `"max:PATH"`, `"concat:PATH"`, `"first:PATH"`; `"count:PATH"` counts values.
        separator: Joins strings.
    """

    version = 3
    columns: Annotated[dict[str, str], NotEmpty()]
    separator: str = "\n"

    def check(self) -> None:
        for name, rule in self.columns.items():
            how, _, path = rule.partition(":")
            if how not in _HOW or (not path and how != "count"):
                problem = f"the column {name!r} is {rule!r}; write one of {', '.join(_HOW)}, a colon and a path"
                raise ParameterError(self.name, "columns", problem)

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for rule in self.columns.values() if (path := rule.partition(":")[2])))

    @property
    def columns_made(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def aggregate(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        sample: dict[str, Any] = {}
        for name, rule in self.columns.items():
            how, _, path = rule.partition(":")
            if not path:
                sample[name] = len(batch)
                continue
            values = [value for value in batch.column(path) if not is_missing(value)]
            try:
                sample[name] = self._joined(values) if how == "concat" else _HOW[how](values)
            except TypeError as error:
                raise TypeError(f"{self.name}: {rule}: {error}") from None
        return sample

    def _joined(self, values: list[Any]) -> Any:
        if not values:
            return None  # nothing says whether it would be a string or a list
        if all(isinstance(value, list) for value in values):
            return [element for value in values for element in value]
        return self.separator.join(values)


_HOW: dict[str, Any] = {
    "count": len,
    "sum": sum,
    "mean": lambda values: sum(values) / len(values) if values else None,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "concat": None,
    "first": lambda values: next(iter(values), None),
}
