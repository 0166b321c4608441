"""The base class of operators that run a user's function."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.column_values import own_copy
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.api.returned import check_column
from jinx_pipeline.operators.api.same_value import is_same_value
from jinx_pipeline.operators.script.editable_sample import EditableSample

if TYPE_CHECKING:
    import numpy.typing as npt


class ScriptSplitter(Splitter):
    """Runs a user's function, which may keep, drop, change or multiply a sample.

    Only columns that it changes are written, and only columns that it accesses are read.
    """

    pure = False
    may_probe = False

    def function_to_run(self) -> Callable[[Any], Any]:
        """The user's function."""
        raise NotImplementedError

    def takes_columns(self) -> bool:
        """Whether the function takes a dict of columns instead of a sample."""
        return False

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], dict[str, Any]]":
        function = self.function_to_run()
        if self.takes_columns():
            return np.arange(len(batch)), _changed_columns(function, batch, self.name)
        samples, order = batch.samples(), batch.column_names
        parents: list[int] = []
        children: list[tuple[dict[str, Any], list[str]]] = []
        for at, stored in enumerate(ctx.each(samples)):
            sample = EditableSample(stored, order)
            for made in _results(function(sample), self.name):
                parents.append(at)
                children.append(sample.changes(made))
        names = dict.fromkeys(name for changed, gone in children for name in (*changed, *gone))
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for parent, (changed, removed) in zip(parents, children, strict=True):
            for name, values in columns.items():
                if name in changed:
                    values.append(changed[name])
                else:
                    values.append(REMOVED if name in removed else samples[parent].get(name, REMOVED))
        return np.array(parents, dtype=np.int64), columns


def _results(result: Any, name: str) -> Sequence[Mapping[str, Any]]:
    if result is None:
        return ()
    if isinstance(result, Mapping):
        return (result,)
    if isinstance(result, list | tuple) and all(isinstance(element, Mapping) for element in result):  # pyright: ignore[reportUnknownVariableType]
        return result  # pyright: ignore[reportUnknownVariableType]
    raise TypeError(
        f"{name}: the function returned {type(result).__name__}; it returns a sample, a list of samples or None"
    )


def _changed_columns(function: Callable[[Any], Any], batch: Batch, name: str) -> dict[str, Any]:
    """The columns that a function of columns changed."""
    rows = batch.to_samples()
    before = {column: [row.get(column, REMOVED) for row in rows] for column in batch.column_names}
    given = {
        column: [None if value is REMOVED else own_copy(value) for value in values] for column, values in before.items()
    }
    after = function(given)
    if not isinstance(after, Mapping):
        raise TypeError(
            f"{name}: the function returned {type(after).__name__}; a batched one returns a dict of columns"
        )
    changed: dict[str, Any] = {}
    for column, values in after.items():  # pyright: ignore[reportUnknownVariableType]
        check_column(column, values, len(batch))
        # A row without the column was passed None for it. If the value is still None, the row still lacks the column.
        old = before.get(column, [None] * len(batch))
        new = [was if value is None and was is REMOVED else value for value, was in zip(list(values), old, strict=True)]  # pyright: ignore[reportUnknownArgumentType]
        if column not in before or not all(map(is_same_value, new, old)):
            changed[column] = new
    gone = {column: [REMOVED] * len(batch) for column in before if column not in after}
    return {**changed, **gone}
