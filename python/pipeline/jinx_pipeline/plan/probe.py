"""The probe: operators on a few rows, to learn how fast each is."""

import time

import numpy as np

from jinx_pipeline.operators.batch import Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.recipe.model import Recipe

PROBE_ROWS = 256


def probe_rates(recipe: Recipe, source: OpenSource) -> dict[int, float]:
    """Rows per second of the filters that could be reordered, by their place in the recipe.

    Each runs on the same seeded rows. One that fails on them has no rate, and is not moved.
    """
    runs = [place for place, step in enumerate(recipe.steps) if step.operator.commutes]
    if len(runs) < 2 or not len(source):  # noqa: PLR2004 - one filter has no order
        return {}
    rows = min(PROBE_ROWS, len(source))
    chosen = np.sort(np.random.default_rng(recipe.options.seed).choice(len(source), size=rows, replace=False))
    positions = np.concatenate([source.positions(int(at), 1) for at in chosen])
    ctx = Context(seed=recipe.options.seed, threads=recipe.options.threads)
    rates: dict[int, float] = {}
    for place in runs:
        operator = recipe.steps[place].operator
        try:
            # The first call imports packages and loads models.
            operator.mark(Batch(source.dataset, positions[:1], recipe.roles), ctx)
            batch = Batch(source.dataset, positions, recipe.roles, ids=source.ids(positions))
            started = time.perf_counter()
            operator.mark(batch, ctx)
        except Exception:  # noqa: BLE001, S112 - the run will say what is wrong with which row
            continue
        rates[place] = round(rows / max(time.perf_counter() - started, 1e-9), 1)
    return rates
