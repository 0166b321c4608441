"""Operators that run a user's function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinx_pipeline.operators.script.script_splitter import ScriptSplitter


class ScriptOp(ScriptSplitter):
    """Runs a function on each sample; it returns the sample (changed, or another dict), None to drop it, or a list.

        ScriptOp(function=lambda sample: sample if sample["score"] > 0.5 else None)

    Attributes:
        function: A function of a sample, which is a mapping whose columns are read on access.
    """

    name = "function"
    function: Callable[..., Any]

    def function_to_run(self) -> Callable[[Any], Any]:
        return self.function


def function_operator(function: Callable[..., Any]) -> ScriptOp:
    """An operator that runs a function, and has its name."""
    operator = ScriptOp(function=function)
    operator.name = getattr(function, "__name__", "function")  # pyright: ignore[reportAttributeAccessIssue] - this instance only
    return operator


# These are classes instead of closures, so that the digest of a recipe includes the user's function.


@dataclass(frozen=True)
class KeepIf:
    """The function of `Dataset.filter`: keeps the samples for which a user's function is true."""

    function: Callable[[Any], Any]

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", "filter")

    def __call__(self, sample: Any) -> Any:
        return sample if self.function(sample) else None


@dataclass(frozen=True)
class MergeColumns:
    """The function of `Dataset.map`: adds the columns that a user's function returns."""

    function: Callable[[Any], Any]

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", "map")

    def __call__(self, sample: Any) -> Any:
        columns = self.function(sample)
        if not isinstance(columns, Mapping):
            raise TypeError(
                f"map: the function returned {type(columns).__name__}; it returns a dict of columns (filter drops "
                "samples, process takes functions that make several)"
            )
        if columns is not sample:
            for name, value in columns.items():  # pyright: ignore[reportUnknownVariableType]
                sample[name] = value
        return sample
