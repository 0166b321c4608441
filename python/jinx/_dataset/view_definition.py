"""The definition of a view in memory: the datasets that it shows, and its own columns."""

from dataclasses import dataclass
from typing import Any

from jinx import _core
from jinx._dataset.summary import schema_of_all
from jinx._unpickle import rebuild


@dataclass(frozen=True, eq=False)
class ViewDefinition:
    """The datasets and own columns of a view, from which it can be made again after unpickling."""

    parts: tuple[Any, ...]
    own: tuple[tuple[str, Any], ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("ViewDefinition", self.parts, self.own)

    def rows(self) -> _core.Rows:
        """The samples, for `_derive`."""
        return _core.compose(list(self.parts), list(self.own), [])

    def schema(self) -> dict[str, str]:
        """The types of its columns."""
        return schema_of_all(self.parts, {name: values.type_text() for name, values in self.own})
