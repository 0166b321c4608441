"""How many workers a Ray cluster has room for."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from jinx_pipeline.engines.ray.cluster import RayCluster
from jinx_pipeline.engines.ray.pool_resources import Needs, how_many, left_over

# How often the nodes are counted again.
_ASK_SECONDS = 2.0


class Capacity(Mapping[str, int]):
    """How many workers of each pool the cluster has room for; more when nodes join, never fewer.

    Args:
        cluster: It.
        needs: Resources of one worker by pool, of the pools that the recipe uses.
        fixed: A number of workers for each pool without a GPU that was asked for.

    Raises:
        RuntimeError: No node can hold a worker of one of the pools.
    """

    def __init__(self, cluster: RayCluster, needs: Mapping[str, Needs], fixed: int | None) -> None:
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
        """Workers by pool: those with a GPU come first, as only some nodes can hold them; the others share the rest."""
        with_gpu = [pool for pool, needs in self._needs.items() if needs.get("GPU")]
        others = [pool for pool in self._needs if pool not in with_gpu]
        counts: Counter[str] = Counter()
        nodes = [dict(node["Resources"]) for node in self._cluster.nodes()]
        for node in nodes:
            counts.update(self._in_turn(node, with_gpu))
        # One of each, so that no pool has to wait for the workers of another to be idle ...
        for pool in others:
            needs = self._needs[pool]
            node = next((node for node in nodes if how_many(node, needs)), None)
            if node is not None:
                counts[pool] += 1
                node.update(left_over(node, needs, 1))
        # ... and what is left is for whoever has work first.
        for pool in others:
            counts[pool] += sum(how_many(node, self._needs[pool]) for node in nodes)
        # Where there is no room, a worker is asked for all the same: it gets a turn when others are idle.
        return {pool: (self._fixed if pool in others else None) or max(counts[pool], 1) for pool in self._needs}

    def _in_turn(self, node: dict[str, float], pools: Sequence[str]) -> Counter[str]:
        """How many workers of each pool a node holds when they take turns; what they take is gone from it then."""
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
