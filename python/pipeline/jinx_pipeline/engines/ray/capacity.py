"""How many workers a Ray cluster has room for."""

import time
from collections.abc import Iterator, Mapping

from jinx_pipeline.engines.ray.cluster import Cluster
from jinx_pipeline.engines.ray.pool_resources import Needs, how_many, left_over

# How often the nodes are counted again.
_ASK_SECONDS = 2.0


class Capacity(Mapping[str, int]):
    """How many workers of each pool the cluster has room for; more when nodes join, never fewer.

    Args:
        cluster: It.
        needs: Resources of one worker by pool, of the pools that the recipe uses.
        fixed: A number of workers without GPU that was asked for.

    Raises:
        RuntimeError: No node can hold a worker of one of the pools.
    """

    def __init__(self, cluster: Cluster, needs: Mapping[str, Needs], fixed: int | None) -> None:
        self._cluster = cluster
        self._needs = needs
        self._fixed = fixed
        self._asked_at = time.monotonic()
        cluster.refresh()
        for one in needs.values():
            cluster.require_able(one)
        self._counts = self._counted()

    def __getitem__(self, pool: str) -> int:
        self._ask()
        return self._counts[pool]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def _ask(self) -> None:
        now = time.monotonic()
        if now - self._asked_at < _ASK_SECONDS:
            return
        self._asked_at = now
        # Where no node is left, replacements wait for one.
        self._counts = {pool: max(count, self._counts[pool]) for pool, count in self._counted().items()}

    def _counted(self) -> dict[str, int]:
        """Workers by pool; those with a GPU come first, as only some nodes can hold them."""
        cpus = gpus = 0
        for node in self._cluster.nodes():
            resources = node["Resources"]
            if "gpu" in self._needs:
                here = how_many(resources, self._needs["gpu"])
                gpus += here
                resources = left_over(resources, self._needs["gpu"], here)
            cpus += how_many(resources, self._needs["cpu"])
        # Where those with a GPU take all CPUs, one without is to get a turn.
        return {"cpu": self._fixed or max(cpus, 1), "gpu": gpus}
