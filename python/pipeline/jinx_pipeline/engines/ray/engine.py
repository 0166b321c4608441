"""The engine of actors on a Ray cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from jinx._sizes import parse_size
from jinx_pipeline.engines.engine import Engine, default_pools, lacks_memory
from jinx_pipeline.engines.ray.capacity import Capacity
from jinx_pipeline.engines.ray.cluster import RayCluster
from jinx_pipeline.engines.ray.node_check import node_check
from jinx_pipeline.engines.ray.pool_resources import needs_of
from jinx_pipeline.engines.ray.worker_actors import ActorReserve, RayWorkers
from jinx_pipeline.engines.worker_backend import WorkerBackend
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.recipe.model import Options
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.store.mirror import url_of
from jinx_pipeline.worker.pandas_import import is_spared


def ray_engine(options: Options, cluster: RayCluster, reserve: ActorReserve | None = None) -> Engine:
    """An engine of actors on a Ray cluster; actors of a reserve are used first and returned to it."""
    return _OnRay(options, cluster, reserve=reserve)


@dataclass(frozen=True)
class _OnRay:
    options: Options
    cluster: RayCluster
    pools: Mapping[str, Resources] = field(default_factory=default_pools)
    reserve: ActorReserve | None = None

    def counts(self) -> Mapping[str, int]:
        return Capacity(self.cluster, self._needs(), self.options.workers)

    def memory(self) -> dict[str, int]:
        memory = self.options.memory
        return {} if memory is None else dict.fromkeys(self.pools, parse_size(memory))

    def lacks(self, needs: Resources) -> str | None:
        return self.cluster.lacks(needs_of(self.options, needs)) or lacks_memory(self.options, needs)

    def fitted(self, pools: Mapping[str, Resources], measured: Mapping[str, int] | None = None) -> Engine:
        # Ray refuses or delays workers that need too much. For an estimate from another machine, this is too strict.
        del measured
        return replace(self, pools=pools)

    def workers(self, directory: RunDirectory, paths: tuple[str, ...], modules: list[str]) -> WorkerBackend:
        files = self.options.custom_operators
        # URLs are not checked on the nodes.
        named = [path for path in (*paths, *files) if "://" not in path and url_of(path) is None]
        local_paths = [str(Path(path).absolute()) for path in named]
        check = node_check(directory.path, local_paths)
        needs = self._needs()
        self.cluster.check_nodes(check, needs.values())
        memory = self.options.memory
        return RayWorkers(
            self.cluster,
            check,
            directory.parts,
            needs,
            threads=self.options.threads,
            files=files,
            spare_pandas=is_spared(modules),
            memory_limit=None if memory is None else parse_size(memory),
            row_seconds=self.options.row_seconds,
            reserve=self.reserve,
        )

    def _needs(self) -> dict[str, dict[str, float]]:
        return {pool: needs_of(self.options, needs) for pool, needs in self.pools.items()}
