"""Workers that stay: several runs, one after another, use them without starting them anew."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import Lock
from typing import Literal, Self

from jinx_pipeline.engines.engine import Engine, local_engine, ray_engine, this_machine
from jinx_pipeline.engines.local.room import Room
from jinx_pipeline.engines.local.worker_processes import Reserve
from jinx_pipeline.engines.ray.cluster import Ray, RayCluster, connected
from jinx_pipeline.engines.ray.worker_actors import ActorReserve
from jinx_pipeline.recipe.model import Options


class Cluster:
    """Workers that runs borrow, one after another.

        with jp.Cluster() as cluster:
            first.export("first.jinx", cluster=cluster)
            second.export("second.jinx", cluster=cluster)

    Between two runs a worker forgets code, operators and models of the first one, so an edited file is read anew. It is
    used again by a run that needs the same: `resources`, `threads`, and whether operators may need pandas. Others are
    ended when such a run begins.

    Args:
        engine: Where the workers are: `"local"`, on this machine; or on a Ray cluster, to which there is one connection
            while this is open.
    """

    def __init__(self, engine: Ray | Literal["local"] = "local") -> None:
        if engine != "local" and not isinstance(engine, Ray):  # pyright: ignore[reportUnnecessaryIsInstance] - of users
            raise TypeError(f"engine is 'local' or jp.Ray(...), not {engine!r}")
        self._engine = engine
        self._in_use = Lock()
        self._ended = ExitStack()
        self._ray: RayCluster | None = None
        self._actors = ActorReserve()
        self._processes: Reserve | None = None
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; a run that has some ends first."""
        with self._in_use:
            self._is_closed = True
            self._ended.close()

    def options(self, options: Options) -> Options:
        """The options of a run that borrows workers: where it runs, the cluster says."""
        if isinstance(self._engine, Ray):
            return replace(options, **self._engine.options())
        return replace(options, engine="local")

    @contextmanager
    def lend(self, options: Options) -> Generator[Engine]:
        """Lend workers to a run, with options of `options`.

        Raises:
            RuntimeError: Another run has them, or they were ended.
            ConnectionError: No Ray cluster answers.
        """
        if not self._in_use.acquire(blocking=False):
            raise RuntimeError("another run uses this cluster; give each of several runs at a time one of its own")
        try:
            if self._is_closed:
                raise RuntimeError("this cluster was closed")
            yield self._opened(options)
        finally:
            self._in_use.release()

    def _opened(self, options: Options) -> Engine:
        if not isinstance(self._engine, Ray):
            if self._processes is None:
                machine = this_machine()
                self._processes = Reserve(Room(machine.gpus, machine.memory))
                self._ended.callback(self._processes.close)
            return local_engine(options, self._processes)
        if self._ray is None:
            self._ray = self._ended.enter_context(connected(self._engine.address))
            self._ended.callback(self._actors.end_others, self._ray.ray, ())
        return ray_engine(options, self._ray, self._actors)
