"""The number of workers that a Ray cluster has room for."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from jinx_pipeline.engines.ray.cluster import RayCluster
from jinx_pipeline.engines.ray.pool_resources import Needs, how_many, left_over

# The interval for counting the nodes.
_ASK_SECONDS = 2.0


class Capacity(Mapping[str, int]):
    """The number of workers of each pool that a cluster has room for; it grows when nodes join and never shrinks.

    Args:
        cluster: The cluster.
        needs: Resources of one worker, for each pool of the recipe.
        fixed: The requested number of workers for each pool without a GPU; None: not requested.

    Raises:
        RuntimeError: No node can hold a worker of one of the pools.
    """

    def __init__(self, cluster: RayCluster, needs: Mapping[str, Needs], fixed: int | None) -> None:
        self._cluster = cluster
        self._needs = needs
        self._fixed = fixed
        self._asked_at = time.monotonic()
        cluster.refresh()
        for worker_needs in needs.values():
            cluster.require_able(worker_needs)
        self._counts = self._count()

    def __getitem__(self, pool: str) -> int:
        self._refresh()
        return self._counts[pool]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._asked_at < _ASK_SECONDS:
            return
        self._asked_at = now
        # If nodes are lost, the replacements of their workers wait for new nodes.
        self._counts = {pool: max(count, self._counts[pool]) for pool, count in self._count().items()}

    def _count(self) -> dict[str, int]:
        """The number of workers by pool. Pools with a GPU come first, as few nodes have one; others share the rest."""
        with_gpu = [pool for pool, needs in self._needs.items() if needs.get("GPU")]
        without_gpu = [pool for pool in self._needs if pool not in with_gpu]
        counts: Counter[str] = Counter()
        nodes = [dict(node["Resources"]) for node in self._cluster.nodes()]
        for node in nodes:
            counts.update(self._fill_in_turns(node, with_gpu))
        # First one worker of each pool, so that no pool has to wait until workers of another are idle, ...
        for pool in without_gpu:
            needs = self._needs[pool]
            node = next((node for node in nodes if how_many(node, needs)), None)
            if node is not None:
                counts[pool] += 1
                node.update(left_over(node, needs, 1))
        # ... then the remaining resources go to the pool that has work first.
        for pool in without_gpu:
            counts[pool] += sum(how_many(node, self._needs[pool]) for node in nodes)
        # If there are no free resources, request one worker anyway: it starts when others are idle.
        return {pool: (self._fixed if pool in without_gpu else None) or max(counts[pool], 1) for pool in self._needs}

    def _fill_in_turns(self, node: dict[str, float], pools: Sequence[str]) -> Counter[str]:
        """Fill a node with workers of the pools in turns; returns their numbers, and subtracts their resources."""
        counts: Counter[str] = Counter()
        if len(pools) == 1:
            counts[pools[0]] = how_many(node, self._needs[pools[0]])
            node.update(left_over(node, self._needs[pools[0]], counts[pools[0]]))
            return counts
        while pools := [pool for pool in pools if how_many(node, self._needs[pool])]:
            for pool in pools:
                if how_many(node, self._needs[pool]):
                    counts[pool] += 1
                    node.update(left_over(node, self._needs[pool], 1))
        return counts
