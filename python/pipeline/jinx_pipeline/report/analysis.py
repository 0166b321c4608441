"""Figures of statistics: distribution, share that the recipe keeps, correlation, extremes."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.batch import STATS
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.recipe.model import Recipe

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
        count: Values; a list counts each of its elements.
        missing: Samples without a value.
        mean: Of the values.
        deviation: Their standard deviation.
        low: The least value.
        high: The largest.
        quantiles: At `QUANTILES`.
        counts: Of the histogram.
        edges: Of its bins, one more.
        bounds: The least and largest value that the recipe keeps; None: no such bound.
        kept: The share of the values that lie within them.
        lowest: Samples with the least values: positions and values.
        highest: With the largest.
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
    lowest: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    highest: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])


@dataclass(frozen=True)
class Analysis:
    """All statistics of a dataset.

    Attributes:
        samples: Samples.
        statistics: Each one.
        names: Of those that are correlated: numbers with a value per sample.
        correlation: Pearson's, of shape (n, n); NaN where one does not vary.
    """

    samples: int
    statistics: list[Statistic]
    names: list[str]
    correlation: "npt.NDArray[np.float64]"


def analysis(dataset: "jinx.Dataset", recipe: Recipe, extremes: int = 6) -> Analysis:
    """Figures of the statistics that a recipe's filters have left in a dataset."""
    found: list[Statistic] = []
    columns: dict[str, npt.NDArray[np.float64]] = {}
    for step in recipe.steps if len(dataset) else ():  # without samples there are no columns
        operator = step.operator
        if not isinstance(operator, Filter):
            continue
        for name, kind in operator.stats.items():
            if "string" in kind or kind == "bool":
                continue
            owners, values, missing = _values(dataset, name, is_list=kind.startswith("list"))
            if len(values) and not kind.startswith("list"):
                whole = np.full(len(dataset), np.nan)
                whole[owners] = values
                columns[name] = whole
            if len(values):
                low, high = operator.bounds.get(name, (None, None))
                bounds = _bound(operator, low), _bound(operator, high)
                found.append(_statistic(name, operator.name, owners, values, missing, bounds=bounds, extremes=extremes))
    names = list(columns)
    return Analysis(len(dataset), found, names, _correlation(list(columns.values())))


def _values(
    dataset: "jinx.Dataset", name: str, *, is_list: bool
) -> "tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], int]":
    """The samples that have a value, the values, and how many samples have none."""
    column: Any = dataset.column(f"{STATS}.{name}")
    if is_list:
        lists = [one or [] for one in column]
        owners = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
        values = np.array([value for one in lists for value in one], dtype=np.float64)
        return owners, values, sum(not one for one in lists)
    if isinstance(column, list):
        column = np.ma.masked_invalid([np.nan if one is None else float(one) for one in column])
    masked = np.ma.asarray(column)
    there = ~np.ma.getmaskarray(masked)
    values = np.asarray(masked[there], dtype=np.float64)
    finite = np.isfinite(values)
    owners = np.flatnonzero(there)[finite]
    return owners, values[finite], len(dataset) - int(finite.sum())


def _statistic(
    name: str,
    operator: str,
    owners: "npt.NDArray[np.int64]",
    values: "npt.NDArray[np.float64]",
    missing: int,
    *,
    bounds: tuple[float | None, float | None],
    extremes: int,
) -> Statistic:
    # A few outliers would put everything else into one bin.
    inner = np.quantile(values, [0.005, 0.995])
    shown = values[(values >= inner[0]) & (values <= inner[1])] if inner[1] > inner[0] else values
    counts, edges = np.histogram(shown, bins=_BINS)
    low, high = bounds
    kept = (values >= (-np.inf if low is None else low)) & (values <= (np.inf if high is None else high))
    order = np.argsort(values, kind="stable")
    ends = [
        [(int(owners[at]), float(values[at])) for at in chosen] for chosen in (order[:extremes], order[::-1][:extremes])
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
        [float(one) for one in np.quantile(values, QUANTILES)],
        counts.tolist(),
        edges.tolist(),
        bounds,
        float(kept.mean()),
        *ends,
    )


def _bound(operator: Filter, name: str | None) -> float | None:
    """A threshold; None where the default means that there is none."""
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
