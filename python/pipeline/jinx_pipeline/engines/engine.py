"""The engines: local processes or a Ray cluster, and the workers that they offer."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from jinx._sizes import natural_size, parse_size
from jinx_pipeline.engines.local.room import Machine, Room, Workforce
from jinx_pipeline.engines.local.worker_processes import LocalWorkers, Reserve, usable_cores, visible_gpus
from jinx_pipeline.engines.worker_backend import WorkerBackend
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.recipe.model import Options
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.worker.memory import USABLE_SHARE, usable_memory
from jinx_pipeline.worker.pandas_import import is_spared


class Engine(Protocol):
    """The interface between a run and its engine."""

    def counts(self) -> Mapping[str, int]:
        """The maximum number of workers of each pool, which may grow."""
        ...

    def memory(self) -> dict[str, int]:
        """Bytes of private memory that a worker of each pool may use; pools that are missing have no limit."""
        ...

    def lacks(self, needs: Resources) -> str | None:
        """If no machine can hold a worker with these needs, a message about what the machines have; otherwise None."""
        ...

    def fitted(self, pools: Mapping[str, Resources], measured: Mapping[str, int] | None = None) -> "Engine":
        """The engine for the pools of a recipe, with no more workers than fit into memory.

        Args:
            pools: The resources that a worker of each pool must have.
            measured: Bytes that a worker of each pool needs, as the probe estimated them on this machine.
        """
        ...

    def workers(self, directory: RunDirectory, paths: tuple[str, ...], modules: list[str]) -> WorkerBackend:
        """The workers, not started yet.

        Args:
            directory: The directory of the run.
            paths: The paths that the workers read.
            modules: The modules of their operators.
        """
        ...


def this_machine() -> Machine:
    """The resources of this machine for all workers together."""
    return Machine(usable_cores(), tuple(visible_gpus()), int(USABLE_SHARE * usable_memory()))


def default_pools() -> dict[str, Resources]:
    """The pools before a recipe is known."""
    return {Resources().pool: Resources()}


@contextmanager
def opened_engine(options: Options) -> Generator[Engine]:
    """The engine that the options of a recipe name; a cluster that is started for it is shut down at the end."""
    if options.engine == "local":
        yield local_engine(options)
    else:
        from jinx_pipeline.engines.ray.cluster import connected
        from jinx_pipeline.engines.ray.engine import ray_engine

        with connected(options.ray_address) as cluster:
            yield ray_engine(options, cluster)


def local_engine(options: Options, reserve: Reserve | None = None) -> Engine:
    """An engine of processes on this machine; those of a reserve are used first and returned to it."""
    return _Local(options, reserve=reserve)


@dataclass(frozen=True)
class _Local:
    options: Options
    pools: Mapping[str, Resources] = field(default_factory=default_pools)
    measured: Mapping[str, int] = field(default_factory=dict[str, int])
    reserve: Reserve | None = None

    def counts(self) -> dict[str, int]:
        return self._workforce().counts()

    def memory(self) -> dict[str, int]:
        return self._workforce().memory()

    def lacks(self, needs: Resources) -> str | None:
        return this_machine().lacks(needs) or lacks_memory(self.options, needs)

    def fitted(self, pools: Mapping[str, Resources], measured: Mapping[str, int] | None = None) -> Engine:
        return replace(self, pools=pools, measured=measured or {})

    def workers(self, directory: RunDirectory, paths: tuple[str, ...], modules: list[str]) -> WorkerBackend:
        del paths  # a single machine needs no check
        machine = this_machine()
        return LocalWorkers(
            directory.work_dir / "workers.log",
            pools=self.pools,
            reserve=self.reserve or Reserve(Room(machine.gpus, machine.memory)),
            is_lent=self.reserve is not None,
            memory_limits=self.memory(),
            row_seconds=self.options.row_seconds,
            threads=self.options.threads,
            files=self.options.custom_operators,
            spare_pandas=is_spared(modules),
        )

    def _workforce(self) -> Workforce:
        options = self.options
        limit = None if options.memory is None else parse_size(options.memory)
        return Workforce(this_machine(), self.pools, self.measured, options.workers, limit)


def lacks_memory(options: Options, needs: Resources) -> str | None:
    """The message if the option `memory` is less than an operator needs; otherwise None."""
    if options.memory is None or needs.memory <= parse_size(options.memory):
        return None
    return f"a worker may use {natural_size(parse_size(options.memory))} (memory): set memory to more"
