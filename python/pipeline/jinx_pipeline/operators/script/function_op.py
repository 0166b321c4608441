"""Operators made of a user's function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinx_pipeline.operators.script.script_splitter import ScriptSplitter


class ScriptOp(ScriptSplitter):
    """Runs a function on each sample: it returns the sample (changed, or another dict), None to drop it, or a list.

        ScriptOp(function=lambda sample: sample if sample["score"] > 0.5 else None)

    Attributes:
        function: Takes a sample, a mapping whose columns are read when they are touched.
    """

    name = "function"
    function: Callable[..., Any]

    def function_to_run(self) -> Callable[[Any], Any]:
        return self.function


def function_operator(function: Callable[..., Any]) -> ScriptOp:
    """An operator of a function, called like the function."""
    made = ScriptOp(function=function)
    made.name = getattr(function, "__name__", "function")  # pyright: ignore[reportAttributeAccessIssue] - of this one alone
    return made


# Objects, not closures: the digest of a recipe sees the user's function in them.


@dataclass(frozen=True)
class KeepIf:
    """What `Dataset.filter` makes of a function that says whether to keep a sample."""

    function: Callable[[Any], Any]

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", "filter")

    def __call__(self, sample: Any) -> Any:
        return sample if self.function(sample) else None


@dataclass(frozen=True)
class MergeColumns:
    """What `Dataset.map` makes of a function that returns columns."""

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
