"""Measures how busy the models of a recipe are, and what keeps them waiting."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import jinx
from jinx_pipeline.models.feed import TIMES
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context, forget_results
from jinx_pipeline.operators.api.model import LOCAL_KINDS
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Recipe

# Thresholds for what limits an operator: the share of time that the model is busy, and the share spent waiting.
_BUSY, _WAITS = 0.9, 0.1
# The number of samples that load a model and warm it up before the measurement.
_WARM_UP: Final = 8


@dataclass(frozen=True)
class ModelUse:
    """How an operator uses its models.

    Attributes:
        operator: Its name.
        models: The paths of its models.
        samples: The samples that it processed.
        inputs: The inputs that its models saw, such as images or texts.
        batches: The batches that these made.
        seconds: The time that it took, without loading.
        running: The share in which a model ran; of a model on a GPU, its utilization as a process sees it.
        waiting: The share in which a model waited for inputs being read, decoded, scaled or tokenized.
        gpu_bytes: The most memory of the GPU that was in use; None without a GPU.
    """

    operator: str
    models: tuple[str, ...]
    samples: int
    inputs: int
    batches: int
    seconds: float
    running: float
    waiting: float
    gpu_bytes: int | None

    @property
    def limit(self) -> str:
        """What limits the operator, and what may help."""
        other = 1 - self.running - self.waiting
        if self.running >= _BUSY:
            return "the model: another device, dtype, autocast or compile helps"
        if self.waiting >= max(other, _WAITS):
            return "preparing inputs (reading, decoding, tokenizing): more threads or cores, or smaller media help"
        if other >= _WAITS:
            return "work around the model (choosing samples, statistics, generating outputs)"
        return "nothing in particular"


def measure(recipe: Recipe, *, samples: int, threads: int | None, device: str) -> Iterator[ModelUse]:
    """Run the operators of a recipe on its first samples in this process, and measure those with models.

    Operators that look at all samples, and those that ask services, are left out.

    Args:
        recipe: The recipe; it has one input.
        samples: The number of samples.
        threads: Threads that prepare inputs; None: one for each core.
        device: The device of models that name none.

    Raises:
        RecipeError: No operator has a model that a worker loads, or there is no input.
    """
    if not any(_is_measured(step.operator) for step in recipe.steps):
        raise RecipeError([(Place(), "no operator has a model that a worker loads")])
    if not recipe.sources:
        raise RecipeError([(Place(), "the recipe has no input")])
    dataset = jinx.open(recipe.sources[0].path)
    batch = Batch(dataset[: min(samples, len(dataset))], roles=recipe.roles)
    ctx = Context(seed=recipe.options.seed, device=device, threads=threads or os.cpu_count())
    for step in recipe.steps:
        operator = step.operator
        if operator.kind not in FusedOp.LOCAL or operator.sends_requests:
            continue
        runner = FusedOp(operators=[operator])
        if not _is_measured(operator):
            batch = runner.run(batch, ctx)
            continue
        size = step.batch_rows or operator.rows_at_once
        runner.run(batch.take(_first(len(batch), min(size, _WARM_UP))), ctx)  # loads and warms up
        forget_results()
        before, started = replace(TIMES), time.perf_counter()
        _reset_peak()
        batch = Batch(batch.to_samples(stats=False), roles=recipe.roles)  # so that media are read and decoded again
        count = len(batch)
        batch = runner.run(batch, ctx)
        seconds = max(time.perf_counter() - started, 1e-9)
        yield ModelUse(
            operator.name,
            models=tuple(model.path for model in operator.models.values() if model.kind in LOCAL_KINDS),
            samples=count,
            inputs=TIMES.inputs - before.inputs,
            batches=TIMES.batches - before.batches,
            seconds=seconds,
            running=(TIMES.running - before.running) / seconds,
            waiting=(TIMES.waiting - before.waiting) / seconds,
            gpu_bytes=_peak(),
        )


def _is_measured(operator: Operator) -> bool:
    return any(model.kind in LOCAL_KINDS for model in operator.models.values())


def _first(length: int, count: int) -> Any:
    import numpy as np

    return np.arange(length) < count


def _cuda() -> Any:
    import sys

    torch: Any = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_available() else None


def _reset_peak() -> None:
    if (cuda := _cuda()) is not None:
        cuda.reset_peak_memory_stats()


def _peak() -> int | None:
    return None if (cuda := _cuda()) is None else int(cuda.max_memory_allocated())
