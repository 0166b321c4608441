"""How each operator changes the distributions of the statistics: mean, spread and shape before and after it.

For an operator that drops samples, the values of those that it keeps are compared with those that it drops; for one
that changes samples, the values after it with those before it. A filter was written to change its own statistic; what
it does to the others is the insight.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    Mask = npt.NDArray[np.bool_]

# With fewer values on a side, a comparison is meaningless.
_MIN_VALUES = 8
_MAX_TERMS = 100


@dataclass(frozen=True)
class Change:
    """The effect of an operator on a statistic.

    Attributes:
        operator: The operator.
        statistic: The statistic.
        kept: How many values of samples that it keeps; if it changes samples, how many values after it.
        dropped: How many values of samples that it drops; if it changes samples, how many values before it.
        mean_before: The mean before the operator.
        mean_after: The mean after it.
        effect: The difference of the means of kept and dropped samples, or after and before it, in standard deviations
            (Cohen's d).
        distance: The largest difference of their cumulative distributions (Kolmogorov-Smirnov), from 0 to 1.
        p_mean: The probability of such a difference of means by chance (Welch's t-test), corrected for all changes.
        p_shape: The probability of such a distance by chance (Kolmogorov-Smirnov test), corrected for all changes.
    """

    operator: str
    statistic: str
    kept: int
    dropped: int
    mean_before: float
    mean_after: float
    effect: float
    distance: float
    p_mean: float
    p_shape: float


@dataclass(frozen=True)
class Values:
    """The values of statistics on both sides of an operator.

    Attributes:
        operator: The operator.
        before: For each statistic, the values of the samples that it reads; float64 of shape (n,).
        after: For each statistic, the values of the samples that it makes or keeps; float64 of shape (m,).
    """

    operator: str
    before: "Mapping[str, Array]"
    after: "Mapping[str, Array]"


@dataclass(frozen=True)
class Insight:
    """What the operators of a recipe do to samples of its input.

    Attributes:
        samples: The number of samples.
        changes: What they do to the statistics, the clearest changes first.
        tags: The most frequent values of each statistic of strings, with their counts.
    """

    samples: int
    changes: list[Change] = field(default_factory=list[Change])
    tags: dict[str, list[tuple[str, int]]] = field(default_factory=dict[str, list[tuple[str, int]]])


def changes(columns: Mapping[str, "Array"], filters: Sequence[tuple[str, "Mask"]]) -> list[Change]:
    """The effects of filters on statistics, the clearest first.

    Args:
        columns: The values of each statistic, NaN where a sample has none; float64 of shape (n,).
        filters: In the order in which they run: the name of each, and the samples that it keeps; bool of shape (n,).
    """
    found: list[Change] = []
    remaining = np.ones(len(next(iter(columns.values()))) if columns else 0, dtype=np.bool_)
    for operator, keeps in filters:
        for statistic, values in columns.items():
            present = remaining & np.isfinite(values)
            change = _change(operator, statistic, values[present & keeps], values[present & ~keeps])
            if change is not None:
                found.append(change)
        remaining &= keeps
    return _corrected(found)


def effects(values: Iterable[Values]) -> list[Change]:
    """The effects of operators on statistics, the clearest first.

    Args:
        values: The values before and after each operator. If all values after it are among those before it, it has kept
            some samples; otherwise it has changed samples.
    """
    found: list[Change] = []
    for of_operator in values:
        for statistic, before in of_operator.before.items():
            after = of_operator.after.get(statistic, before[:0])
            dropped = _without(before, after)
            if dropped is None:
                change = _change(of_operator.operator, statistic, after, before)
                change = change and replace(change, mean_before=float(before.mean()))
            else:
                change = _change(of_operator.operator, statistic, after, dropped)
            if change is not None:
                found.append(change)
    return _corrected(found)


def _without(values: "Array", some: "Array") -> "Array | None":
    """The values that are not among some of them, each counted once; None if some are not among the values."""
    numbers, counts = np.unique(values, return_counts=True)
    kept, kept_counts = np.unique(some, return_counts=True)
    places = np.searchsorted(numbers, kept)
    if len(kept) and (places.max() >= len(numbers) or (numbers[places] != kept).any()):
        return None
    counts[places] -= kept_counts
    return None if (counts < 0).any() else np.repeat(numbers, counts)


def _corrected(found: Sequence[Change]) -> list[Change]:
    corrected = corrected_p([p for change in found for p in (change.p_mean, change.p_shape)])
    results = [
        replace(change, p_mean=corrected[2 * number], p_shape=corrected[2 * number + 1])
        for number, change in enumerate(found)
    ]
    return sorted(results, key=lambda change: -abs(change.effect))


def _change(operator: str, statistic: str, kept: "Array", dropped: "Array") -> Change | None:
    if min(len(kept), len(dropped)) < _MIN_VALUES:
        return None
    both = np.concatenate([kept, dropped])
    distance = ks_distance(kept, dropped)
    return Change(
        operator,
        statistic,
        len(kept),
        len(dropped),
        float(both.mean()),
        float(kept.mean()),
        cohens_d(kept, dropped),
        distance,
        welch_p(kept, dropped),
        ks_p(distance, len(kept), len(dropped)),
    )


def cohens_d(first: "Array", second: "Array") -> float:
    """The difference of two means in pooled standard deviations; 0 if nothing varies."""
    sizes = len(first) - 1, len(second) - 1
    pooled = (sizes[0] * first.var(ddof=1) + sizes[1] * second.var(ddof=1)) / sum(sizes)
    return float((first.mean() - second.mean()) / math.sqrt(pooled)) if pooled > 0 else 0.0


def welch_p(first: "Array", second: "Array") -> float:
    """The two-sided p-value of Welch's t-test for equal means."""
    shares = first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)
    total = float(sum(shares))
    if total == 0:
        return 1.0 if first.mean() == second.mean() else 0.0
    t = float(first.mean() - second.mean()) / math.sqrt(total)
    freedom = total**2 / float(shares[0] ** 2 / (len(first) - 1) + shares[1] ** 2 / (len(second) - 1))
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def ks_distance(first: "Array", second: "Array") -> float:
    """The largest difference of the cumulative distributions of two samples."""
    points = np.concatenate([first, second])
    shares = [np.searchsorted(np.sort(values), points, side="right") / len(values) for values in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def ks_p(distance: float, first: int, second: int) -> float:
    """The p-value of a Kolmogorov-Smirnov distance, from the limit distribution.

    Args:
        distance: The distance.
        first: The size of the first sample.
        second: The size of the second sample.
    """
    size = math.sqrt(first * second / (first + second))
    x = (size + 0.12 + 0.11 / size) * distance
    if x < 0.2:  # noqa: PLR2004 - the series converges slowly, and the result is almost 1
        return 1.0
    terms = ((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, _MAX_TERMS + 1))
    return min(max(2 * sum(terms), 0.0), 1.0)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, from its continued fraction (Lentz's algorithm)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x) - math.log(a)
    )
    tiny = 1e-300
    fraction, c, d = 1.0, 1.0, 0.0
    for number in range(1000):
        m = number // 2
        if number == 0:
            numerator = 1.0
        elif number % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 + numerator * d
        d = 1 / (d if abs(d) > tiny else tiny)
        c = 1 + numerator / (c if abs(c) > tiny else tiny)
        fraction *= c * d
        if abs(1 - c * d) < 1e-12:  # noqa: PLR2004 - nearly the precision of a float
            break
    return min(max(front * (fraction - 1), 0.0), 1.0)


def corrected_p(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for many tests at once, by Holm's method."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, largest = [1.0] * len(p_values), 0.0
    for rank, number in enumerate(order):
        largest = max(largest, min(p_values[number] * (len(p_values) - rank), 1.0))
        corrected[number] = largest
    return corrected
