"""The GPUs and the memory of this machine, which are assigned to workers and returned."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jinx_pipeline.operators.api.resources import Resources

# The minimum memory of a worker, if other workers declare how much they need.
_LEAST_BYTES = 256_000_000
# Tolerance for amounts such as 0.1, which floats cannot represent exactly.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Share:
    """The resources that are assigned to a worker.

    Attributes:
        gpus: The names of its GPUs.
        fraction: The share of each GPU.
        memory: Bytes of memory.
    """

    gpus: tuple[str, ...] = ()
    fraction: float = 1.0
    memory: int = 0


class Room:
    """GPUs and memory that are not assigned to a worker.

    Args:
        gpus: The names of the GPUs.
        memory: Bytes for all workers together.
    """

    def __init__(self, gpus: Iterable[str], memory: int) -> None:
        self._gpus = dict.fromkeys(gpus, 1.0)
        self._memory = memory

    def take(self, needs: Resources) -> Share | None:
        """Assign the needs of a worker; None if there is no room now."""
        if needs.memory > self._memory:
            return None
        count, fraction = max(math.ceil(needs.gpus), 0), min(needs.gpus, 1.0)
        able = sorted(name for name, free in self._gpus.items() if free + _ROUNDING >= fraction)
        if count > len(able):
            return None
        # Choose the GPUs with the largest free share, so that workers spread over all GPUs.
        chosen = tuple(sorted(able, key=lambda name: -self._gpus[name])[:count])
        for name in chosen:
            self._gpus[name] -= fraction
        self._memory -= needs.memory
        return Share(chosen, fraction, needs.memory)

    def give_back(self, share: Share) -> None:
        """Return the share of a worker that has ended."""
        for name in share.gpus:
            self._gpus[name] += share.fraction
        self._memory += share.memory


@dataclass(frozen=True)
class Machine:
    """This machine.

    Attributes:
        cores: The usable cores.
        gpus: The names of its GPUs.
        memory: Bytes for all workers together.
    """

    cores: int
    gpus: tuple[str, ...]
    memory: int

    def lacks(self, needs: Resources) -> str | None:
        """If this machine's resources are less than these needs, a message about them; otherwise None."""
        if needs.cpus > self.cores or needs.gpus > len(self.gpus) or needs.memory > self.memory:
            return f"this machine has {Resources(self.cores, len(self.gpus), self.memory)} for workers"
        return None


@dataclass(frozen=True)
class Workforce:
    """The number of workers of each pool, and the memory that each may use.

    Args:
        machine: The machine.
        pools: The resources that a worker of each pool must have.
        measured: Bytes that a worker of each pool needs, as far as they were measured.
        workers: The requested number of workers for each pool without a GPU; None: not requested.
        limit: The requested memory limit of a worker in bytes; None: not requested.
    """

    machine: Machine
    pools: Mapping[str, Resources]
    measured: Mapping[str, int] = field(default_factory=dict[str, int])
    workers: int | None = None
    limit: int | None = None

    def counts(self) -> dict[str, int]:
        """The number of workers by pool, at least 1. Some may have to wait until workers of other pools end."""
        counts = {pool: self._by_cores(needs) for pool, needs in self.pools.items() if not needs.gpus}
        counts |= self._by_gpus()
        least = self._least_bytes()
        while sum(count * least[pool] for pool, count in counts.items()) > self.machine.memory:
            # If the number of workers was requested, only pools with declared memory are reduced: an estimate does not
            # count.
            reducible = [
                pool
                for pool, count in counts.items()
                if count > 1 and (self.pools[pool].memory or self.workers is None)
            ]
            if not reducible:
                break
            counts[max(reducible, key=lambda pool: counts[pool] * least[pool])] -= 1
        return counts

    def memory(self) -> dict[str, int]:
        """Bytes that a worker of each pool may use: the memory that it needs, and its share of the remaining memory."""
        if self.limit is not None:
            return dict.fromkeys(self.pools, self.limit)
        counts, least = self.counts(), self._least_bytes()
        total, number = self.machine.memory, sum(counts.values())
        remaining = total - sum(count * least[pool] for pool, count in counts.items())
        if remaining < 0:
            return {pool: max(self.pools[pool].memory, total // number) for pool in counts}
        return {pool: least[pool] + remaining // number for pool in counts}

    def _least_bytes(self) -> dict[str, int]:
        """The number of bytes that a worker of each pool needs."""
        if self.limit is not None:
            return {pool: needs.memory for pool, needs in self.pools.items()}
        floor = _LEAST_BYTES if any(needs.memory for needs in self.pools.values()) else 0
        return {pool: max(floor, needs.memory, self.measured.get(pool, 0)) for pool, needs in self.pools.items()}

    def _by_cores(self, needs: Resources) -> int:
        return self.workers or max(int(self.machine.cores / needs.cpus + _ROUNDING), 1)

    def _by_gpus(self) -> dict[str, int]:
        """Workers of the pools with GPUs, which are added in turns until there is no more room."""
        counts = {pool: 0 for pool, needs in self.pools.items() if needs.gpus}
        room, pools = Room(self.machine.gpus, self.machine.memory), list(counts)
        while pools:
            pools = [pool for pool in pools if room.take(self.pools[pool]) is not None]
            for pool in pools:
                counts[pool] += 1
        return {pool: max(count, 1) for pool, count in counts.items()}
