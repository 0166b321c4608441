"""What a view in memory is made of: datasets, and columns of its own."""

from dataclasses import dataclass
from typing import Any

from jinx import _core
from jinx._dataset.summary import schema_of_all
from jinx._reopen import rebuild


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a view with columns of its own, or of several datasets, is made of; it travels in pickles.

    Attributes:
        parts: The datasets.
        own: Names and values of the columns.
        lengths: How those of the columns that are lengths were counted, as JSON text; None: nothing is known.
    """

    parts: tuple[Any, ...]
    own: tuple[tuple[str, Any], ...] = ()
    lengths: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("Recipe", self.parts, self.own, self.lengths)

    def rows(self) -> _core.Rows:
        """The samples."""
        return _core.compose(list(self.parts), list(self.own), self.lengths)

    def schema(self) -> dict[str, str]:
        """The types of its columns."""
        return schema_of_all(self.parts, {name: values.type_text() for name, values in self.own})
