"""What a worker on Ray takes, and how many of them fit into a node."""

import math
from collections.abc import Mapping

from jinx._sizes import parse_size
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.recipe.model import Options

Needs = Mapping[str, float]

# Of amounts such as 0.1, which floats do not have exactly.
_ROUNDING = 1e-6


def needs_of(options: Options, resources: Resources) -> dict[str, float]:
    """What a worker takes, with Ray's names.

    Args:
        options: Of the recipe; `ray_resources` goes before what operators need.
        resources: What the operators of its pool need.
    """
    given = dict(options.ray_resources)
    if not resources.gpus:
        # What stands for a GPU would take it from other pools, or keep these workers off other nodes.
        given = {name: amount for name, amount in given.items() if not _is_of_gpu(name)}
    needs: dict[str, float] = {"CPU": max(options.threads, resources.cpus), **given}
    memory = parse_size(options.memory) if options.memory is not None else resources.memory
    if memory:
        needs.setdefault("memory", memory)
    if resources.gpus:
        # Ray shares one GPU, and gives several only whole.
        needs.setdefault("GPU", resources.gpus if resources.gpus <= 1 else math.ceil(resources.gpus))
    return needs


def _is_of_gpu(name: str) -> bool:
    return name == "GPU" or name.startswith("accelerator_type:")


def how_many(resources: Needs, needs: Needs) -> int:
    """How many workers with such needs fit into such resources; one if they need nothing."""
    return min(
        (int(resources.get(name, 0) / amount + _ROUNDING) for name, amount in needs.items() if amount > 0), default=1
    )


def left_over(resources: Needs, needs: Needs, count: int) -> dict[str, float]:
    """What so many workers leave of the resources of a node."""
    return {name: amount - count * needs.get(name, 0) for name, amount in resources.items()}
