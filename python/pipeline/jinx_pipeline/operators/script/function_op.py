"""Operators made of a user's function."""

from collections.abc import Callable
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
