"""What a recipe says of an operator whose code has not been loaded."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator


class UnloadedOperator(Operator):
    """An operator of a file that has not been run: its name, and its parameters as they were given.

    A plan takes it for a mapper that may change everything.

    Attributes:
        given: The parameters and what the recipe wants for its workers, unchecked.
    """

    kind = "mapper"
    pure = False
    may_probe = False
    given: dict[str, Any]

    @classmethod
    def named(cls, name: str, given: Mapping[str, Any]) -> "UnloadedOperator":
        """The operator that a recipe names."""
        operator = cls(given=dict(given))
        operator.name = name  # pyright: ignore[reportAttributeAccessIssue] - of this instance alone
        return operator

    @property
    def parameters(self) -> dict[str, Any]:
        return self.given

    @property
    def digest(self) -> str:
        """For a plan that is only shown: nobody knows what it does, so no operator has it."""
        return f"{self.name}, not loaded"

    def run(self, batch: Batch, ctx: Context) -> Batch:
        raise RuntimeError(f"{self.name}: its code is not loaded; resolve the recipe")
