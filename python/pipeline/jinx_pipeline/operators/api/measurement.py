"""Replaces samples by the statistics of several filters, to compare the samples before and after other operators."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jinx_pipeline.operators.api.batch import REMOVED, STATS, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import Splitter

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

MEASURED = "measured"
"""The only column of the samples that `Measurement` makes: for each filter, its statistics by name."""


class Measurement(Splitter):
    """Replaces each sample by what filters measure of it; it has no name in recipes.

    A filter that fails on a sample leaves its statistics out. One that runs a model or sends requests measures nothing:
    the statistics that the sample already has count, if there are some.

    Attributes:
        filters: The filters.
    """

    name: ClassVar[str] = "measurement"
    may_probe = False
    filters: list[Operator]

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], Mapping[str, Any]]":
        found = [self._measured(operator, batch, ctx) for operator in self.filters if isinstance(operator, Filter)]
        removed = {name: [REMOVED] * len(batch) for name in batch.column_names if not name.startswith("__dj__")}
        measured = [list(of_sample) for of_sample in zip(*found, strict=True)] if found else [[]] * len(batch)
        return np.arange(len(batch)), {**removed, MEASURED: measured}

    def _measured(self, operator: Filter, batch: Batch, ctx: Context) -> list[dict[str, Any] | None]:
        if operator.models or operator.sends_requests:
            return _stored(operator, batch)
        try:
            return _stats(operator, batch, ctx)
        except Exception as error:  # noqa: BLE001 - as for the rows of a run
            _raise_if_not_of_rows(error)
        alone: list[dict[str, Any] | None] = []
        for row in range(len(batch)):
            try:
                alone += _stats(operator, batch.take([row]), ctx)
            except Exception as error:  # noqa: BLE001 - as for the rows of a run
                _raise_if_not_of_rows(error)
                alone.append(None)
        return alone


def _stats(operator: Filter, batch: Batch, ctx: Context) -> list[dict[str, Any] | None]:
    measured = operator.measure(batch, ctx)
    columns = [measured.stats[name].to_pylist() for name in operator.stats]
    return [dict(zip(operator.stats, values, strict=True)) for values in zip(*columns, strict=True)]


def _stored(operator: Filter, batch: Batch) -> list[dict[str, Any] | None]:
    """The statistics that the samples have."""
    stored = batch.column(STATS) if STATS in batch.column_names else [None] * len(batch)
    return [None if stats is None else {name: stats.get(name) for name in operator.stats} for stats in stored]


def _raise_if_not_of_rows(error: Exception) -> None:
    """Raise an error that the samples did not cause."""
    if isinstance(error, MemoryError) or getattr(error, "concerns_all_rows", False) or hasattr(error, "retry_after"):
        raise error
