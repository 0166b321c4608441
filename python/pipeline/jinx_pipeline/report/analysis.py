"""Analyzes statistics: distribution, share that the recipe keeps, correlation, extreme samples."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.batch import STATS
from jinx_pipeline.operators.api.filter import Filter, as_arrow
from jinx_pipeline.recipe.measured import lasting_filters, measured_steps
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.report.insight import Change, changes
from jinx_pipeline.report.tags import tag_counts

if TYPE_CHECKING:
    import numpy.typing as npt

    import jinx

_BINS = 40
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True)
class Statistic:
    """One statistic over all samples.

    Attributes:
        name: Its name.
        operator: The filter that computed it.
        count: The number of values; each element of a list counts.
        missing: The number of samples without a value.
        mean: The mean.
        deviation: The standard deviation.
        low: The smallest value.
        high: The largest value.
        quantiles: The quantiles at `QUANTILES`.
        counts: The number of values in each bin of the histogram.
        edges: The edges of the bins, one more than there are bins.
        bounds: The smallest and largest value that the recipe keeps; None for no bound.
        kept: The share of the values within the bounds.
        is_list: Whether a sample has several values.
        lowest: Positions and values of the samples with the smallest values.
        highest: Positions and values of the samples with the largest values.
    """

    name: str
    operator: str
    count: int
    missing: int
    mean: float
    deviation: float
    low: float
    high: float
    quantiles: list[float]
    counts: list[int]
    edges: list[float]
    bounds: tuple[float | None, float | None]
    kept: float
    is_list: bool
    lowest: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    highest: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])


@dataclass(frozen=True)
class Analysis:
    """All statistics of a dataset.

    Attributes:
        samples: The number of samples.
        statistics: The statistics.
        names: The names of the correlated statistics: numbers with one value per sample.
        correlation: Pearson correlation coefficients, of shape (n, n); NaN if a statistic does not vary.
        changes: What the filters do to the statistics, the clearest changes first.
        tags: The most frequent values of each statistic of strings, with their counts.
        left_out: The filters that are not shown: a later filter has statistics of the same name, or they come after an
            operator that makes new samples or looks at all samples.
    """

    samples: int
    statistics: list[Statistic]
    names: list[str]
    correlation: "npt.NDArray[np.float64]"
    changes: list[Change] = field(default_factory=list[Change])
    tags: dict[str, list[tuple[str, int]]] = field(default_factory=dict[str, list[tuple[str, int]]])
    left_out: list[str] = field(default_factory=list[str])


def analysis(dataset: "jinx.Dataset", recipe: Recipe, extremes: int = 6) -> Analysis:
    """Analyze the statistics that the filters of a recipe added to a dataset."""
    statistics: list[Statistic] = []
    columns: dict[str, npt.NDArray[np.float64]] = {}
    filters: list[tuple[str, npt.NDArray[np.bool_]]] = []
    tags: dict[str, list[tuple[str, int]]] = {}
    measured = measured_steps(recipe.steps)
    lasting = [operator for operator, _ in lasting_filters(measured)]
    # A filter without statistics looks at columns, and without samples there are no columns.
    for operator in (operator for operator in lasting if operator.stats and len(dataset)):
        filters.append((operator.name, _kept(dataset, operator)))
        tags |= {
            name: tag_counts(dataset.column(f"{STATS}.{name}"))
            for name, kind in operator.stats.items()
            if "string" in kind
        }
        for name, kind in operator.stats.items():
            if "string" in kind or kind == "bool":
                continue
            owners, values, missing = _values(dataset, name, is_list=kind.startswith("list"))
            if len(values) and not kind.startswith("list"):
                column = np.full(len(dataset), np.nan)
                column[owners] = values
                columns[name] = column
            if len(values):
                is_list = kind.startswith("list")
                low, high = operator.bounds.get(name, (None, None))
                bounds = _bound(operator, low), _bound(operator, high)
                statistics.append(
                    _statistic(
                        name, operator.name, owners, values, missing, bounds=bounds, is_list=is_list, extremes=extremes
                    )
                )
    names = list(columns)
    correlation = _correlation(list(columns.values()))
    # A filter inside a fused operator is not a step of its own.
    shown = {id(operator) for operator in lasting}
    left_out = [
        f"process[{number}].{step.operator.name}"
        for number, step in enumerate(recipe.steps)
        if isinstance(step.operator, Filter) and id(step.operator) not in shown
    ]
    return Analysis(len(dataset), statistics, names, correlation, changes(columns, filters), tags, left_out)


def _kept(dataset: "jinx.Dataset", operator: Filter) -> "npt.NDArray[np.bool_]":
    """The samples that a filter keeps."""
    stats = {name: as_arrow(_listed(dataset.column(f"{STATS}.{name}")), kind) for name, kind in operator.stats.items()}
    return np.asarray(operator.keep(stats), dtype=np.bool_)


def _listed(column: Any) -> list[Any]:
    return column if isinstance(column, list) else column.tolist()


def _values(
    dataset: "jinx.Dataset", name: str, *, is_list: bool
) -> "tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], int]":
    """The positions of the samples with a value, the values, and the number of samples without one."""
    column: Any = dataset.column(f"{STATS}.{name}")
    if is_list:
        lists = [elements or [] for elements in column]
        owners = np.repeat(np.arange(len(lists)), [len(elements) for elements in lists])
        values = np.array([value for elements in lists for value in elements], dtype=np.float64)
        return owners, values, sum(not elements for elements in lists)
    if isinstance(column, list):
        column = np.ma.masked_invalid([np.nan if value is None else float(value) for value in column])
    masked = np.ma.asarray(column)
    present = ~np.ma.getmaskarray(masked)
    values = np.asarray(masked[present], dtype=np.float64)
    finite = np.isfinite(values)
    owners = np.flatnonzero(present)[finite]
    return owners, values[finite], len(dataset) - int(finite.sum())


def _statistic(
    name: str,
    operator: str,
    owners: "npt.NDArray[np.int64]",
    values: "npt.NDArray[np.float64]",
    missing: int,
    *,
    bounds: tuple[float | None, float | None],
    is_list: bool,
    extremes: int,
) -> Statistic:
    # Leave out the extremes: a few outliers would put all other values into one bin.
    inner = np.quantile(values, [0.005, 0.995])
    shown = values[(values >= inner[0]) & (values <= inner[1])] if inner[1] > inner[0] else values
    counts, edges = np.histogram(shown, bins=_BINS)
    low, high = bounds
    is_kept = (values >= (-np.inf if low is None else low)) & (values <= (np.inf if high is None else high))
    order = np.argsort(values, kind="stable")
    ends = [
        [(int(owners[index]), float(values[index])) for index in indices]
        for indices in (order[:extremes], order[::-1][:extremes])
    ]
    return Statistic(
        name,
        operator,
        len(values),
        missing,
        float(values.mean()),
        float(values.std()),
        float(values.min()),
        float(values.max()),
        [float(quantile) for quantile in np.quantile(values, QUANTILES)],
        counts.tolist(),
        edges.tolist(),
        bounds,
        float(is_kept.mean()),
        is_list,
        *ends,
    )


def _bound(operator: Filter, name: str | None) -> float | None:
    """A threshold; None if its default means no limit."""
    value = None if name is None else getattr(operator, name)
    return None if value is None or abs(value) >= 2**62 or not np.isfinite(value) else float(value)


def _correlation(columns: "list[npt.NDArray[np.float64]]") -> "npt.NDArray[np.float64]":
    if not columns:
        return np.empty((0, 0))
    matrix = np.full((len(columns), len(columns)), np.nan)
    for a, first in enumerate(columns):
        for b, second in enumerate(columns):
            both = np.isfinite(first) & np.isfinite(second)
            if both.sum() > 1 and first[both].std() > 0 and second[both].std() > 0:
                matrix[a, b] = np.corrcoef(first[both], second[both])[0, 1]
    return matrix
