"""Workers that outlive a run, so that consecutive runs need not start new ones."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import Lock
from typing import Literal, Self

from jinx_pipeline.engines.engine import Engine, local_engine, this_machine
from jinx_pipeline.engines.local.room import Room
from jinx_pipeline.engines.local.worker_processes import Reserve
from jinx_pipeline.engines.ray.cluster import Ray, RayCluster, connected
from jinx_pipeline.engines.ray.engine import ray_engine
from jinx_pipeline.engines.ray.worker_actors import ActorReserve
from jinx_pipeline.recipe.model import Options


class Cluster:
    """Workers that consecutive runs share.

        with jp.Cluster() as cluster:
            first.export("first.jinx", cluster=cluster)
            second.export("second.jinx", cluster=cluster)

    Between two runs a worker forgets the code, operators and models of the first one, so an edited file is read again.
    A run uses the workers that fit its `resources`, its `threads`, and whether its operators may need pandas; the other
    workers are ended when it begins.

    Args:
        engine: `"local"`: workers on this machine; or a Ray cluster, which stays connected while this is open.
    """

    def __init__(self, engine: Ray | Literal["local"] = "local") -> None:
        if engine != "local" and not isinstance(engine, Ray):  # pyright: ignore[reportUnnecessaryIsInstance] - users pass anything
            raise TypeError(f"engine is 'local' or jp.Ray(...), not {engine!r}")
        self._engine = engine
        self._in_use = Lock()
        self._exit_stack = ExitStack()
        self._ray: RayCluster | None = None
        self._actors = ActorReserve()
        self._processes: Reserve | None = None
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers, after the run that uses them has ended."""
        with self._in_use:
            self._is_closed = True
            self._exit_stack.close()

    def options(self, options: Options) -> Options:
        """The options of a run with the engine of this cluster."""
        if isinstance(self._engine, Ray):
            return replace(options, **self._engine.options())
        return replace(options, engine="local")

    @contextmanager
    def lend(self, options: Options) -> Generator[Engine]:
        """Lend workers to a run, whose options come from `options`.

        Raises:
            RuntimeError: Another run uses the workers, or the cluster is closed.
            ConnectionError: No Ray cluster answers.
        """
        if not self._in_use.acquire(blocking=False):
            raise RuntimeError("another run uses this cluster; give each concurrent run a cluster of its own")
        try:
            if self._is_closed:
                raise RuntimeError("this cluster was closed")
            yield self._engine_for(options)
        finally:
            self._in_use.release()

    def _engine_for(self, options: Options) -> Engine:
        if not isinstance(self._engine, Ray):
            if self._processes is None:
                machine = this_machine()
                self._processes = Reserve(Room(machine.gpus, machine.memory))
                self._exit_stack.callback(self._processes.close)
            return local_engine(options, self._processes)
        if self._ray is None:
            self._ray = self._exit_stack.enter_context(connected(self._engine.address))
            self._exit_stack.callback(self._actors.end_others, self._ray.ray, ())
        return ray_engine(options, self._ray, self._actors)
