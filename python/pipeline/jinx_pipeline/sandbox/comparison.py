"""Successive halving: all variants with a small budget, the best with larger ones, plus two controls for each."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jinx_pipeline.sandbox.contestants import Contestant, Contestants
from jinx_pipeline.sandbox.intervals import Verdict, interval, verdict
from jinx_pipeline.sandbox.parameter_search import searched
from jinx_pipeline.sandbox.spec import CONTROLS, Spec, Variant
from jinx_pipeline.sandbox.trials import TrialError, Trials

_LEAST_SAMPLES: Final = 1


@dataclass(frozen=True)
class Row:
    """A variant or control with a budget.

    Attributes:
        variant: Its name.
        budget: How many samples the models saw.
        samples: The samples of its dataset.
        scores: The score of each seed; empty if it failed.
        mean: The mean of the scores.
        low: The lower end of the confidence interval of the mean.
        high: The upper end.
        seconds: How long all seeds took.
        digest: A digest that identifies its dataset.
        is_control: Whether it is a control.
        error: Why it failed; None if it did not.
    """

    variant: str
    budget: int
    samples: int
    scores: list[float]
    mean: float | None
    low: float | None
    high: float | None
    seconds: float
    digest: str
    is_control: bool
    error: str | None = None


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    Attributes:
        rows: A row for each variant and budget.
        verdict: What the last budget says.
    """

    rows: list[Row]
    verdict: Verdict


def compare(spec: Spec, work_dir: Path, say: Callable[[str], None] = lambda _: None) -> Comparison:
    """Compare the variants; results of an interrupted comparison are used.

    Args:
        spec: What to compare.
        work_dir: The directory for datasets, models and results.
        say: Receives messages about progress.

    Raises:
        TrialError: A control failed, or all variants did.
        RecipeError: A recipe cannot be run.
    """
    return _Comparing(spec, work_dir, say).run()


class _Comparing:
    def __init__(self, spec: Spec, work_dir: Path, say: Callable[[str], None]) -> None:
        self._spec, self._say = spec, say
        self._trials = Trials(spec, work_dir / "trials")
        self._made = Contestants(spec, work_dir / "data", say)
        self._is_max = spec.goal == "max"

    def run(self) -> Comparison:
        remaining = [contestant for variant in self._spec.variants for contestant in self._contestants(variant)]
        rows: list[Row] = []
        last: list[Row] = []
        for number, budget in enumerate(self._spec.budgets):
            done = [(contestant, self._row(contestant, budget)) for contestant in remaining]
            ranked = self._ranked(done)
            # Choose as many samples at random as the best variant has, so that only the choice of samples differs.
            control_rows = [
                self._row(self._made.everything(), budget),
                self._row(self._made.everything(), budget, random_of=ranked[0][0].samples),
            ]
            for control in control_rows:
                if control.error is not None:
                    raise TrialError(f"{control.variant}: {control.error}")
            last = [row for _, row in ranked] + control_rows
            rows += [row for _, row in done] + control_rows
            if number < len(self._spec.budgets) - 1:
                remaining = [contestant for contestant, _ in ranked[: math.ceil(len(ranked) / self._spec.eta)]]
                self._say(f"budget {budget:,}: {', '.join(contestant.name for contestant in remaining)} remain")
        scores = {row.variant: row.scores for row in last}
        return Comparison(rows, verdict(scores, CONTROLS, is_max=self._is_max))

    def _contestants(self, variant: Variant) -> list[Contestant]:
        """The datasets for a variant: one, or one for each value of its sweep."""
        sweep = variant.sweep
        if sweep is None:
            return [self._made.of_variant(variant)]
        if sweep.values:
            return [self._made.of_variant(variant, value) for value in sweep.values]
        worst = -math.inf if self._is_max else math.inf

        def score(value: float) -> float:
            mean = self._row(self._made.of_variant(variant, value), self._spec.budgets[0]).mean
            return worst if mean is None else mean

        return [self._made.of_variant(variant, searched(sweep, score, is_max=self._is_max))]

    def _ranked(self, done: list[tuple[Contestant, Row]]) -> list[tuple[Contestant, Row]]:
        """The rows that did not fail, best first."""
        ended = [(contestant, row, row.mean) for contestant, row in done if row.mean is not None]
        if not ended:
            raise TrialError(f"all variants failed: {done[0][1].error}")
        ended.sort(key=lambda item: -item[2] if self._is_max else item[2])
        return [(contestant, row) for contestant, row, _ in ended]

    def _row(self, whole: Contestant, budget: int, *, random_of: int | None = None) -> Row:
        """Train with all seeds; a control with random samples has as many as `random_of`."""
        name = whole.name if random_of is None else CONTROLS[1]
        samples = whole.samples if random_of is None else random_of
        is_control = name in CONTROLS
        if samples < _LEAST_SAMPLES:
            error = "its recipe keeps no sample"
            return Row(name, budget, samples, [], None, None, None, 0.0, whole.identity, is_control, error)
        scores: list[float] = []
        seconds = 0.0
        try:
            for seed in range(self._spec.seeds):
                chosen = whole if random_of is None else self._made.random(random_of, seed)
                part = self._made.part(chosen, budget, seed)
                result = self._trials.run(part.path, part.identity, budget, seed)
                scores.append(result.score)
                seconds += result.seconds
        except TrialError as error:
            return Row(name, budget, samples, [], None, None, None, seconds, whole.identity, is_control, str(error))
        found = interval(scores)
        self._say(f"{name}, budget {budget:,}: {found.mean:.4g} ({found.low:.4g} to {found.high:.4g})")
        return Row(
            name,
            budget,
            samples,
            scores,
            found.mean,
            found.low,
            found.high,
            round(seconds, 3),
            whole.identity,
            is_control,
        )
