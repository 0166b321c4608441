"""Places in a recipe, and the error that names them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a recipe.

    Attributes:
        file: The file; None for a recipe built in Python.
        line: The line, from 1; 0 if unknown.
        path: The path inside the recipe, such as `process[2].text_length_filter.min_len`.
    """

    file: str | None = None
    line: int = 0
    path: str = ""

    def __str__(self) -> str:
        parts: list[str] = []
        if self.file:
            parts.append(f"{self.file}, line {self.line}" if self.line else self.file)
        if self.path:
            parts.append(self.path)
        return ": ".join(parts)

    def inside(self, name: str | int, line: int = 0) -> "Place":
        """The place of an element of a mapping or list."""
        step = f"[{name}]" if isinstance(name, int) else f".{name}" if self.path else name
        return Place(self.file, line or self.line, self.path + step)


class RecipeError(ValueError):
    """Raised when a recipe has mistakes; the message has a line for each.

    Attributes:
        problems: The place and the message of each.
    """

    def __init__(self, problems: list[tuple[Place, str]]) -> None:
        lines = (f"{place}: {problem}" if str(place) else problem for place, problem in problems)
        super().__init__("\n".join(lines))
        self.problems = problems
