"""Grouped parameters: mappings such as `image_text_matching_filter_args`, which composed operators accept."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import Converter, ParameterError, checked, hints_of


class Arguments(Converter):
    """The values of some fields of a dataclass: `Annotated[dict[str, Any], Arguments(Matching)]`.

    The operator receives the given values; `Matching(**values)` adds the defaults.

    Attributes:
        group: The dataclass; each field has a default.
    """

    def __init__(self, group: type[Any]) -> None:
        self.group = group

    def converted(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise TypeError(f"is a mapping of parameters, not {value!r:.60}")
        try:
            found = checked(self.group, "", value)  # pyright: ignore[reportUnknownArgumentType]
        except ParameterError as error:
            raise TypeError(f"has a wrong value{error}") from None
        return {str(name): found[name] for name in value}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    def __str__(self) -> str:
        return f"mapping of {', '.join(hints_of(self.group))}"


class ComposedOperator(Operator):
    """An operator with groups of parameters; the models in these are its own."""

    @property
    def models(self) -> dict[str, Model]:
        return {**super().models, **dict(_models_in(type(self), self.parameters, ""))}


def group_in(hint: Any) -> type[Any] | None:
    """The dataclass of a parameter that is a group; None for other types."""
    return next((argument.group for argument in get_args(hint) if isinstance(argument, Arguments)), None)


def _models_in(cls: type[Any], values: Mapping[str, Any], place: str) -> Iterator[tuple[str, Model]]:
    """The models of the groups in a class, by a name such as `image_text_matching_filter_args.hf_blip`."""
    for name, hint in hints_of(cls).items():
        group = group_in(hint)
        if group is not None:
            whole = vars(group(**values.get(name, {})))
            yield from ((f"{place}{name}.{field}", value) for field, value in whole.items() if isinstance(value, Model))
            yield from _models_in(group, whole, f"{place}{name}.")
