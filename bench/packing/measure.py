"""One contestant on one distribution: packs, efficiency and CPU time, checked for validity.

Runs as a process of its own, in the environment of the contestant: `python -m bench.packing.measure NAME DISTRIBUTION`.
"""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from bench.packing.lengths import MAX_LENGTH, sizes
from bench.packing.other_packers import OTHERS, Packs, Sizes

T = TypeVar("T")
MAX_IMAGES = 8
SAMPLES = 200_000
REPEATS = 5
RANKS = 8
# Name: (strategy, whether images count).
OURS = {
    "jinx, next fit": ("next_fit", False),
    "jinx, first fit decreasing": ("first_fit_decreasing", False),
    "jinx, best fit decreasing": ("best_fit_decreasing", False),
    "jinx, knapsack (exact finish)": ("knapsack", False),
    "jinx, best fit decreasing, images <= 8": ("best_fit_decreasing", True),
    "jinx, knapsack, images <= 8": ("knapsack", True),
}


def timed(work: Callable[[], T], repeats: int) -> tuple[T, dict[str, float]]:
    """What the work returns, and its median CPU and wall time."""
    times: list[tuple[float, float]] = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        found = work()
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = (statistics.median(column) for column in zip(*times, strict=True))
    return found, {"cpu": cpu, "wall": wall}


def measured(contestant: str, distribution: str) -> dict[str, Any]:
    """What a contestant makes of a distribution, in this process."""
    return _ours(contestant, distribution) if contestant in OURS else _other(contestant, distribution)


def _ours(contestant: str, distribution: str) -> dict[str, Any]:
    import jinx

    strategy, has_images = OURS[contestant]
    data = sizes(distribution, SAMPLES)
    budgets = {"max_images": MAX_IMAGES} if has_images else {}
    source = data if has_images else {"num_tokens": data["num_tokens"]}
    jinx.pack(np.arange(1, 100), 200)  # imports
    plan, times = timed(lambda: jinx.pack(source, MAX_LENGTH, strategy=strategy, threads=1, **budgets), REPEATS)
    packs = [pack.tolist() for pack in plan]
    found = _judged(packs, data, has_images=has_images)
    if has_images:
        plain, balanced = (plan.schedule(world_size=RANKS, balance=balance) for balance in (None, "num_images"))
        found |= {"imbalance": balanced.imbalance("num_images"), "imbalance_unbalanced": plain.imbalance("num_images")}
    return {**found, **times, "samples": SAMPLES}


def _other(contestant: str, distribution: str) -> dict[str, Any]:
    samples, has_images, packer = OTHERS[contestant]
    data = sizes(distribution, samples)
    packer({name: column[:100] for name, column in data.items()}, MAX_LENGTH, MAX_IMAGES)  # imports, compilation
    packs, times = timed(lambda: packer(data, MAX_LENGTH, MAX_IMAGES), 1)
    return {**_judged(packs, data, has_images=has_images), **times, "samples": samples}


def _judged(packs: Packs, data: Sizes, *, has_images: bool) -> dict[str, Any]:
    """Packs and what they waste; every sample is in one pack, and no budget is exceeded."""
    tokens, images = (data[name].astype(np.int64) for name in ("num_tokens", "num_images"))
    members = np.concatenate([np.asarray(pack, dtype=np.int64) for pack in packs])
    if not np.array_equal(np.sort(members), np.arange(len(tokens))):
        raise ValueError("a sample is missing, or in two packs")
    starts = np.concatenate([[0], np.cumsum([len(pack) for pack in packs])])[:-1]
    if np.add.reduceat(tokens[members], starts).max() > MAX_LENGTH:
        raise ValueError("a pack has too many tokens")
    of_packs = np.add.reduceat(images[members], starts)
    if has_images and of_packs.max() > MAX_IMAGES:
        raise ValueError("a pack has too many images")
    bounds = [-(-int(tokens.sum()) // MAX_LENGTH)] + ([-(-int(images.sum()) // MAX_IMAGES)] if has_images else [])
    return {
        "packs": len(packs),
        "bound": max(bounds),
        "efficiency": int(tokens.sum()) / (len(packs) * MAX_LENGTH),
        "over_bound": len(packs) / max(bounds) - 1,
    }


def large(samples: int) -> dict[str, Any]:
    """A plan of many samples: time and the memory that this process had at its peak, above that of its lengths."""
    import jinx

    data = np.random.default_rng(0).integers(32, 1300, samples, dtype=np.uint32)
    jinx.pack(np.arange(1, 100), 200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    plan = jinx.pack(data, MAX_LENGTH)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scale = 1 if sys.platform == "darwin" else 1024
    return {
        "samples": samples,
        "packs": len(plan),
        "efficiency": plan.efficiency,
        "cpu": cpu,
        "wall": wall,
        "bytes_per_sample": (peak - before) * scale / samples,
        "peak": peak * scale,
    }


def main() -> None:
    """Print one measurement as JSON."""
    name, which = sys.argv[1:]
    print(json.dumps(large(int(which)) if name == "large" else measured(name, which)))


if __name__ == "__main__":
    main()
