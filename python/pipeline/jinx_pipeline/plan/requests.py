"""Estimates the requests that a run would send to language models, and their tokens and price."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.plan.probe import PROBE_ROWS
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.recipe.model import Recipe


@dataclass(frozen=True)
class RequestEstimate:
    """The requests of an operator if all samples of the input reach it.

    Attributes:
        operator: Its name.
        requests: The requests; None: unknown, because earlier operators make what it needs, or groups do.
        tokens_in: The tokens of the prompts.
        tokens_out: The maximum number of tokens of the answers; None if there is no limit.
        money: The price, with the prices of the recipe; None if there are none.
    """

    operator: str
    requests: int | None
    tokens_in: int = 0
    tokens_out: int | None = None
    money: float | None = None

    @property
    def line(self) -> str:
        """The estimate as a line."""
        if self.requests is None:
            return f"{self.operator}: unknown, because it depends on earlier steps"
        limit = "" if self.tokens_out is None else f", up to {self.tokens_out:,} tokens of answers"
        money = "" if self.money is None else f", {self.money:,.2f} in money"
        return f"{self.operator}: up to {self.requests:,}, about {self.tokens_in:,} tokens of prompts{limit}{money}"


def estimated_requests(recipe: Recipe, opened: OpenSource | None, rows: int) -> Iterator[RequestEstimate]:
    """The estimates for all operators that send requests, from a few rows.

    Args:
        recipe: The recipe.
        opened: Its inputs; None if they are not converted yet.
        rows: Their rows.
    """
    batch: Batch | None = None
    for step in recipe.steps:
        if not step.operator.sends_requests:
            continue
        if batch is None and opened is not None and rows:
            batch = _few_rows(recipe, opened)
        yield _estimate(step.operator, batch, rows, recipe.options.seed)


def _few_rows(recipe: Recipe, opened: OpenSource) -> Batch:
    count = min(PROBE_ROWS, len(opened))
    chosen = np.sort(np.random.default_rng(recipe.options.seed).choice(len(opened), size=count, replace=False))
    positions = np.concatenate([opened.positions(int(row), 1) for row in chosen])
    return Batch(opened.dataset, positions, recipe.roles, ids=opened.ids(positions))


def _estimate(operator: Operator, batch: Batch | None, rows: int, seed: int) -> RequestEstimate:
    try:
        tokens = None if batch is None else operator.request_tokens(batch, Context(seed=seed))
    except Exception:  # noqa: BLE001 - for example, a column that does not exist yet, or an unreadable image
        tokens = None
    if tokens is None or batch is None:
        return RequestEstimate(operator.name, None)
    share = rows / len(batch)
    counts = round(len(tokens) * share), round(sum(tokens) * share)
    most = operator.answer_tokens
    answers = None if most is None else most * counts[0]
    return RequestEstimate(operator.name, *counts, answers, operator.request_price(counts[1], answers or 0))
