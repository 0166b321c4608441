"""What a worker on Ray takes, and how many of them fit into a node."""

import math
from collections.abc import Mapping

from jinx._sizes import parse_size
from jinx_pipeline.operators.api.operator import Resources
from jinx_pipeline.recipe.model import Options

Needs = Mapping[str, float]

# Of amounts such as 0.1, which floats do not have exactly.
_ROUNDING = 1e-6


def needs_by_pool(options: Options, declared: Mapping[str, Resources]) -> dict[str, dict[str, float]]:
    """Resources of one worker by pool, with Ray's names; the pool `gpu` is missing if no operator needs a GPU.

    Args:
        options: Of the recipe; `ray_resources` goes before what operators declare.
        declared: What operators declare, by pool.
    """
    pools = dict.fromkeys(("cpu", *declared))
    return {pool: _needs(options, declared.get(pool, Resources()), pool) for pool in pools}


def _needs(options: Options, declared: Resources, pool: str) -> dict[str, float]:
    given = dict(options.ray_resources)
    if pool == "cpu":
        # What stands for a GPU would take it from the other pool, or keep these workers off other nodes.
        given = {name: amount for name, amount in given.items() if not _is_of_gpu(name)}
    found: dict[str, float] = {"CPU": max(options.threads, declared.cpus), **given}
    memory = parse_size(options.memory) if options.memory is not None else declared.memory
    if memory:
        found.setdefault("memory", memory)
    if pool == "gpu":
        # Ray shares one GPU, and gives several only whole.
        found.setdefault("GPU", declared.gpus if declared.gpus <= 1 else math.ceil(declared.gpus))
    return found


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
