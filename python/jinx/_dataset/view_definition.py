"""The definition of a view in memory: the datasets that it shows, and the columns that it adds."""

from dataclasses import dataclass
from typing import Any

from jinx import _core
from jinx._dataset.summary import schema_of_all
from jinx._unpickle import rebuild


@dataclass(frozen=True, eq=False)
class ViewDefinition:
    """The datasets and added columns of a view, from which unpickling creates it again.

    Attributes:
        parts: The datasets.
        own: Names and values of the columns.
        lengths: The settings that the lengths among the columns were counted with, as JSON text; None: unknown.
    """

    parts: tuple[Any, ...]
    own: tuple[tuple[str, Any], ...] = ()
    lengths: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("ViewDefinition", self.parts, self.own, self.lengths)

    def rows(self) -> _core.Rows:
        """The samples, for `_derive`."""
        return _core.compose(list(self.parts), list(self.own), self.lengths)

    def schema(self) -> dict[str, str]:
        """The types of the view's columns."""
        return schema_of_all(self.parts, {name: values.type_text() for name, values in self.own})
