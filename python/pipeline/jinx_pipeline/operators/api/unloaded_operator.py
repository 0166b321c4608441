"""An operator of a recipe whose code has not been loaded."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator


class UnloadedOperator(Operator):
    """An operator from a file that has not been run: its name and unchecked parameters.

    A plan treats it as a mapper that may change everything.

    Attributes:
        given: The unchecked parameters and settings of the recipe.
    """

    kind = "mapper"
    pure = False
    may_probe = False
    given: dict[str, Any]

    @classmethod
    def named(cls, name: str, given: Mapping[str, Any]) -> "UnloadedOperator":
        """The operator for a name in a recipe."""
        operator = cls(given=dict(given))
        operator.name = name  # pyright: ignore[reportAttributeAccessIssue] - only for this instance
        return operator

    @property
    def parameters(self) -> dict[str, Any]:
        return self.given

    @property
    def digest(self) -> str:
        """A placeholder, for plans that are only shown: the code is unknown."""
        return f"{self.name}, not loaded"

    def run(self, batch: Batch, ctx: Context) -> Batch:
        raise RuntimeError(f"{self.name}: its code is not loaded; resolve the recipe")
