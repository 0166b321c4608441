"""The Ray resources of a worker, and how many workers fit into a node."""

import math
from collections.abc import Mapping

from jinx._sizes import parse_size
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.recipe.model import Options

Needs = Mapping[str, float]

# Tolerance for amounts such as 0.1, which floats cannot represent exactly.
_ROUNDING = 1e-6


def needs_of(options: Options, resources: Resources) -> dict[str, float]:
    """The resources of a worker, with Ray's names.

    Args:
        options: The options of the recipe; `ray_resources` overrides what operators need.
        resources: The needs of the operators of its pool.
    """
    requested = dict(options.ray_resources)
    if not resources.gpus:
        # If these workers requested GPU resources, they would block GPUs of other pools, or could not use nodes without
        # a GPU.
        requested = {name: amount for name, amount in requested.items() if not _is_of_gpu(name)}
    needs: dict[str, float] = {"CPU": max(options.threads, resources.cpus), **requested}
    memory = parse_size(options.memory) if options.memory is not None else resources.memory
    if memory:
        needs.setdefault("memory", memory)
    if resources.gpus:
        # Ray can share a single GPU, but assigns several GPUs only as a whole.
        needs.setdefault("GPU", resources.gpus if resources.gpus <= 1 else math.ceil(resources.gpus))
    return needs


def _is_of_gpu(name: str) -> bool:
    return name == "GPU" or name.startswith("accelerator_type:")


def how_many(resources: Needs, needs: Needs) -> int:
    """How many workers with these needs fit into these resources; one if they need nothing."""
    return min(
        (int(resources.get(name, 0) / amount + _ROUNDING) for name, amount in needs.items() if amount > 0), default=1
    )


def left_over(resources: Needs, needs: Needs, count: int) -> dict[str, float]:
    """The resources of a node that remain after a number of workers."""
    return {name: amount - count * needs.get(name, 0) for name, amount in resources.items()}
