"""Measures of agreement between people: percent, Cohen's kappa and Krippendorff's alpha, for unordered labels."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations


def percent(units: Sequence[Sequence[Hashable | None]]) -> float | None:
    """The share of equal answers among all pairs of answers about the same sample; None without a pair.

    Args:
        units: For each sample the answer of each person; None where there is none.
    """
    pairs = [pair for unit in units for pair in combinations([answer for answer in unit if answer is not None], 2)]
    return None if not pairs else sum(answer == other for answer, other in pairs) / len(pairs)


def cohen_kappa(first: Sequence[Hashable | None], second: Sequence[Hashable | None]) -> float | None:
    """The agreement of two people where both answered, corrected for chance: 1 is full agreement, 0 is chance.

    None if they share no sample, or if both always gave one and the same answer.
    """
    pairs = [
        (answer, other) for answer, other in zip(first, second, strict=True) if answer is not None and other is not None
    ]
    if not pairs:
        return None
    observed = sum(answer == other for answer, other in pairs) / len(pairs)
    left, right = Counter(answer for answer, _ in pairs), Counter(other for _, other in pairs)
    by_chance = sum(left[name] * right[name] for name in left) / len(pairs) ** 2
    return None if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def krippendorff_alpha(units: Sequence[Sequence[Hashable | None]]) -> float | None:
    """The agreement of any number of people beyond chance; samples may lack answers. None if all answers are the same.

    Args:
        units: For each sample the answer of each person; None where there is none.
    """
    paired = [answers for unit in units if len(answers := [answer for answer in unit if answer is not None]) > 1]
    totals = Counter(answer for answers in paired for answer in answers)
    count = sum(totals.values())
    differing = sum(
        sum(times * (len(answers) - times) for times in Counter(answers).values()) / (len(answers) - 1)
        for answers in paired
    )
    by_chance = sum(times * (count - times) for times in totals.values())
    return None if not by_chance else 1 - (count - 1) * differing / by_chance
