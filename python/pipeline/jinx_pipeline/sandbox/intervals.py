"""Scores from several seeds: their mean with an interval, and whether one variant is better than others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from jinx_pipeline.report.insight import corrected_p, incomplete_beta, welch_p

_CONFIDENCE: Final = 0.95
_CHANCE: Final = 0.05


@dataclass(frozen=True)
class Interval:
    """The mean of some scores.

    Attributes:
        mean: The mean.
        low: The lower end of the 95 % confidence interval.
        high: The upper end.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison.

    Attributes:
        best: The variant with the best mean.
        is_better: Whether it is better than every control, by more than chance explains.
        chances: For each other variant, the probability of such a difference by chance, corrected for all of them.
        text: The same in words.
    """

    best: str
    is_better: bool
    chances: dict[str, float]
    text: str


def interval(scores: Sequence[float]) -> Interval:
    """The mean of scores, with its confidence interval by Student's t."""
    values = np.asarray(scores, dtype=np.float64)
    mean = float(values.mean())
    if len(values) < 2:  # noqa: PLR2004 - a single score has no variance
        return Interval(mean, -math.inf, math.inf)
    half = t_quantile(len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def t_quantile(freedom: int, confidence: float = _CONFIDENCE) -> float:
    """The t value for a two-sided interval with this confidence."""
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        outside = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + middle * middle))
        low, high = (middle, high) if outside > 1 - confidence else (low, middle)
    return high


def verdict(scores: Mapping[str, Sequence[float]], controls: Sequence[str], *, is_max: bool) -> Verdict:
    """Whether the best variant is better than the controls.

    Args:
        scores: The scores of each variant and control, one for each seed.
        controls: The names of the controls.
        is_max: Whether a large score is good.
    """
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    candidates = [name for name in scores if name not in controls]
    best = min(candidates, key=lambda name: -means[name] if is_max else means[name])
    others = [name for name in scores if name != best]
    values = {name: np.asarray(given, dtype=np.float64) for name, given in scores.items()}
    chances = dict(zip(others, corrected_p([welch_p(values[best], values[name]) for name in others]), strict=True))

    def beats(name: str) -> bool:
        return chances[name] < _CHANCE and (means[best] > means[name]) == is_max and means[best] != means[name]

    equal = [name for name in controls if name in chances and not beats(name)]
    if equal:
        text = f"not distinguishable: {best} has the best mean, but {' and '.join(equal)} may be as good"
        return Verdict(best, is_better=False, chances=chances, text=text)
    rest = [name for name in candidates if name != best and not beats(name)]
    more = f"; not distinguishable from {', '.join(rest)}" if rest else ""
    return Verdict(best, is_better=True, chances=chances, text=f"{best} is better than both controls{more}")
