"""Values that rows do not share with the base: they replace its columns or add new ones."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import jinx
from jinx_pipeline.operators.api.batch import REMOVED
from jinx_pipeline.operators.api.sample_source import absent_columns, in_order, without_private
from jinx_pipeline.plan.source import OpenSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Positions = npt.NDArray[np.int64]


class _Kept:
    """The type of `KEPT`."""

    def __reduce__(self) -> str:
        return "KEPT"


KEPT: Final = _Kept()
"""As a value of a column to write: the row has its stored value."""

_NONE: Final[Mapping[str, list[Any]]] = {}


def own_values(
    source: OpenSource, positions: "Positions", changed: Mapping[str, list[Any]] = _NONE
) -> dict[str, list[Any]]:
    """The columns in which rows have another value than in the base, or no value.

    A row with the value of the base has `KEPT`, and a row without a value has `REMOVED`. Both depend only on the row,
    not on its part.

    Args:
        source: The source of the rows.
        positions: The positions of the rows in the source.
        changed: The columns of these rows that operators changed; `KEPT` marks values of the source.
    """
    has_own = source.has_own(positions)
    columns: dict[str, list[Any]] = {}
    for name in in_order([*has_own, *changed]):
        new = changed.get(name) or [KEPT] * len(positions)
        if name in has_own and any(has_own[name][row] for row, value in enumerate(new) if value is KEPT):
            old = stored_values(source, positions, name)
            is_own = has_own[name].tolist()
            new = [
                before if value is KEPT and own else value for value, before, own in zip(new, old, is_own, strict=True)
            ]
        if any(value is not KEPT for value in new):
            columns[name] = new
    return columns


def has_column(source: OpenSource, positions: "Positions", name: str) -> list[bool]:
    """A mask of the rows that have a column."""
    dataset, local = source.dataset, source.local(positions)
    if name not in dataset.column_names:
        return [False] * len(positions)
    there = [name in sample for sample in dataset.select(local)]
    absent = absent_columns(dataset, local)
    return (
        there
        if absent is None
        else [name not in names and is_there for names, is_there in zip(absent, there, strict=True)]
    )


def stored_values(source: OpenSource, positions: "Positions", name: str) -> list[Any]:
    """The values of a column in the source; `REMOVED` for rows without one."""
    dataset, local = source.dataset, source.local(positions)
    if name not in dataset.column_names:
        return [REMOVED] * len(positions)
    values = [sample.get(name, REMOVED) for sample in dataset.take(local, [name])]
    absent = absent_columns(dataset, local)
    if absent is None:
        return values
    return [REMOVED if name in names else value for value, names in zip(values, absent, strict=True)]


def copy_rows(
    writer: jinx.Writer, source: OpenSource, positions: "Positions", changed: Mapping[str, list[Any]] = _NONE
) -> None:
    """Copy rows as the base stores them, followed by columns of their own; for the arguments, see `own_values`."""
    if source.is_even and not changed:
        # No value has to be changed, so none is read.
        writer.copy(without_private(source.dataset), source.local(positions))
        return
    columns = own_values(source, positions, changed)
    origin, rows = source.origin, source.origin_rows(positions)
    known = set(origin.column_names)
    for start, stop, marks in _runs(columns, len(positions)):
        replace = {name: values[start:stop] for name, values in columns.items() if name not in marks}
        gone = [name for name, mark in marks.items() if mark is REMOVED and name in known]
        writer.copy(origin, rows[start:stop], replace=replace, drop=gone)


def _runs(columns: Mapping[str, list[Any]], rows: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Runs of rows in which the same columns are KEPT or REMOVED: their start, stop and these columns."""
    partly = {
        name: values for name, values in columns.items() if any(value is REMOVED or value is KEPT for value in values)
    }
    start = 0
    while start < rows:
        marks = _marks(partly, start)
        stop = start + 1
        while stop < rows and (not partly or _marks(partly, stop) == marks):
            stop = stop + 1 if partly else rows
        yield start, stop, marks
        start = stop


def _marks(columns: Mapping[str, list[Any]], row: int) -> dict[str, Any]:
    return {name: values[row] for name, values in columns.items() if values[row] is REMOVED or values[row] is KEPT}
