"""The values of a sweep: listed ones, or those that Optuna proposes."""

from collections.abc import Callable
from typing import Any

from jinx_pipeline.optional import require
from jinx_pipeline.sandbox.spec import Sweep


def searched(sweep: Sweep, score: Callable[[float], float], *, is_max: bool) -> float:
    """The best value of a search.

    The search has a fixed seed, so that one that is resumed proposes the same values.

    Args:
        sweep: The range, and how many values to try.
        score: The score of a value.
        is_max: Whether a large score is good.
    """
    optuna = require("optuna", extra="optuna", what="a sweep between low and high")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=0)
    study: Any = optuna.create_study(direction="maximize" if is_max else "minimize", sampler=sampler)
    is_whole = isinstance(sweep.low, int) and isinstance(sweep.high, int)
    for _ in range(sweep.trials):
        trial = study.ask()
        suggest = trial.suggest_int if is_whole else trial.suggest_float
        study.tell(trial, score(suggest(sweep.parameter, sweep.low, sweep.high)))
    return study.best_params[sweep.parameter]
