"""Which engine carries out a run, and what it has."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from jinx._sizes import parse_size
from jinx_pipeline.engines.local.worker_processes import LocalWorkers, usable_cores, visible_gpus
from jinx_pipeline.engines.ray.capacity import Capacity
from jinx_pipeline.engines.ray.cluster import Cluster, connected
from jinx_pipeline.engines.ray.node_check import node_check
from jinx_pipeline.engines.ray.pool_resources import needs_by_pool
from jinx_pipeline.engines.ray.worker_actors import RayWorkers
from jinx_pipeline.engines.worker_backend import WorkerBackend
from jinx_pipeline.operators.api.operator import Resources
from jinx_pipeline.recipe.model import Options
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.worker.memory import memory_share
from jinx_pipeline.worker.pandas_import import is_spared


class Engine(Protocol):
    """What a run needs to know of an engine."""

    def counts(self) -> Mapping[str, int]:
        """How many workers of each pool there may be; the numbers may grow."""
        ...

    def memory(self) -> int | None:
        """Bytes of its own that one worker may use; None: no limit."""
        ...

    def fitted(self, declared: Mapping[str, Resources], measured: int = 0) -> "Engine":
        """The engine with workers that have what a recipe needs, and no more of them than fit into memory.

        Args:
            declared: What a worker of each pool needs, as operators declare it.
            measured: Bytes that a worker needs, as the probe has estimated it on this machine; 0: nothing was measured.
        """
        ...

    def workers(self, directory: RunDirectory, paths: tuple[str, ...], modules: list[str]) -> WorkerBackend:
        """The workers, none of them started; `paths` are what they read, `modules` those of their operators."""
        ...


@contextmanager
def opened_engine(options: Options) -> Generator[Engine]:
    """The engine that the options of a recipe name; a cluster that is started for it is ended again."""
    if options.engine == "local":
        yield _Local(options)
    else:
        with connected(options.ray_address) as cluster:
            yield _OnRay(options, cluster)


@dataclass(frozen=True)
class _Local:
    options: Options
    worker_bytes: int = 0

    def counts(self) -> dict[str, int]:
        gpus = len(visible_gpus())
        if self.options.workers is not None:
            return {"cpu": self.options.workers, "gpu": gpus}
        cores = usable_cores()
        if self.worker_bytes and self.options.memory is None:
            cores = max(min(cores, memory_share(self.options, 1) // self.worker_bytes - gpus), 1)
        return {"cpu": cores, "gpu": gpus}

    def memory(self) -> int | None:
        return memory_share(self.options, sum(self.counts().values()))

    def fitted(self, declared: Mapping[str, Resources], measured: int = 0) -> Engine:
        return replace(self, worker_bytes=max(measured, *(one.memory for one in declared.values()), 0))

    def workers(self, directory: RunDirectory, paths: tuple[str, ...], modules: list[str]) -> WorkerBackend:
        del paths  # one machine sees them, or none
        return LocalWorkers(
            directory.work_dir / "workers.log",
            memory_limit=self.memory(),
            row_seconds=self.options.row_seconds,
            threads=self.options.threads,
            files=self.options.custom_operators,
            spare_pandas=is_spared(modules),
        )


@dataclass(frozen=True)
class _OnRay:
    options: Options
    cluster: Cluster
    declared: Mapping[str, Resources] = field(default_factory=dict[str, Resources])

    def counts(self) -> Mapping[str, int]:
        return Capacity(self.cluster, self._needs(), self.options.workers)

    def memory(self) -> int | None:
        return None if self.options.memory is None else parse_size(self.options.memory)

    def fitted(self, declared: Mapping[str, Resources], measured: int = 0) -> Engine:
        # Ray refuses what no node has, and holds back what has no room: too much for an estimate of another machine.
        del measured
        return replace(self, declared=declared)

    def workers(self, directory: RunDirectory, paths: tuple[str, ...], modules: list[str]) -> WorkerBackend:
        files = self.options.custom_operators
        # Only the storage knows what is a URL and what is a path.
        read = [str(Path(one).absolute()) for one in (*paths, *files) if "://" not in one]
        check = node_check(directory.path, read)
        needs = self._needs()
        self.cluster.check_nodes(check, needs.values())
        return RayWorkers(
            self.cluster,
            check,
            directory.parts,
            needs,
            threads=self.options.threads,
            files=files,
            spare_pandas=is_spared(modules),
            memory_limit=self.memory(),
            row_seconds=self.options.row_seconds,
        )

    def _needs(self) -> dict[str, dict[str, float]]:
        return needs_by_pool(self.options, self.declared)
