"""A worker of the Ray engine, as it runs on a node.

This module is sent as code, so that it can also tell of a node on which the package is missing: at the top it imports
nothing of it.
"""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jinx_pipeline.engines.worker_backend import Request

Check = Callable[[], str | None]

# How often an actor looks whether its task is still wanted.
_LOOK_SECONDS = 1.0


class RunSettings(NamedTuple):
    """What a worker is told of a run before its first task.

    Attributes:
        run: Another value for each run.
        folder: The driver's working directory, for relative paths; a node without it keeps its own.
        path: Where the driver finds modules: functions may come from files next to its script.
        files: Python files with operators.
        spare_pandas: See `pandas_import.spare`.
        memory_limit: Bytes of memory that it may use, besides what Ray uses in its process; None: no limit.
        row_seconds: It ends itself when it takes longer for each row in its hands; None: no limit.
    """

    run: str
    folder: str
    path: list[str]
    files: tuple[str, ...]
    spare_pandas: bool
    memory_limit: int | None
    row_seconds: float | None


class RayActor:
    """Runs tasks one after another.

    Args:
        threads: Threads that kernels use.
        sees_gpus: Whether libraries may see a GPU.
    """

    def __init__(self, *, threads: int, sees_gpus: bool) -> None:
        # Before anything is imported that reads them.
        os.environ["RAYON_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)
        if not sees_gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self._path = list(sys.path)
        self._of_ray: int | None = None
        self._settings: RunSettings | None = None
        self._part = ""
        self._looked_at = 0.0
        self._teller: Any = None
        self._runner: Any = None

    def hello(self, check: Check, settings: RunSettings) -> tuple[Any, ...]:
        """Check the node and load the files; the first call of a run, and the probe of a worker that was not reachable.

        Whatever fails is told of the node: others may do better.
        """
        import socket

        import ray  # pyright: ignore[reportMissingImports] - the extra `ray`

        node, host = ray.get_runtime_context().get_node_id(), socket.gethostname()
        try:
            problem = check() or self._prepared(settings)
        except Exception as error:  # noqa: BLE001 - a package that cannot be imported may raise anything
            problem = f"node {host}: {type(error).__name__}: {error}"
        return ("ready", os.getpid(), node, host) if problem is None else ("unfit", node, problem)

    def _prepared(self, settings: RunSettings) -> str | None:
        """Load what tasks need, once for a run; returns what is wrong with a file or the memory that this takes."""
        if self._settings is not None and self._settings.run == settings.run:
            return None
        from jinx_pipeline.worker.memory import private_bytes

        if self._of_ray is None:
            self._of_ray = private_bytes(os.getpid())
        of_ray = self._of_ray
        if self._runner is not None:
            from jinx_pipeline.worker.renewal import forget_run

            self._teller.close()
            self._runner.forget()
            forget_run(None, settings.folder)
        elif os.path.isdir(settings.folder):  # noqa: PTH112 - str in
            os.chdir(settings.folder)
        sys.path[:] = [*self._path, *(one for one in settings.path if one not in self._path)]
        from jinx_pipeline.worker.crash_note import CrashReporter
        from jinx_pipeline.worker.pandas_import import spare
        from jinx_pipeline.worker.task_runner import TaskRunner

        if settings.spare_pandas:
            spare()
        self._teller = CrashReporter()
        runner = TaskRunner(self._teller.busy_with, self._is_unwanted)
        answer = runner.load_files(settings.files)
        if answer is not None:
            return str(answer[2])
        limit = settings.memory_limit
        if limit is not None:
            taken = private_bytes(os.getpid()) - of_ray
            if taken > limit:
                return f"a worker takes {taken:,} bytes before its first task, more than memory={limit:,}"
            self._teller.die_above(of_ray + limit)
        if settings.row_seconds is not None:
            self._teller.die_after(settings.row_seconds)
        self._runner, self._settings = runner, settings
        return None

    def _is_unwanted(self, attempt: int) -> bool:
        """Whether the driver has put a file next to the part; the shared storage is asked once a second."""
        del attempt
        import time
        from pathlib import Path

        from jinx_pipeline.runlog.work_dir import stop_path

        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return False
        self._looked_at = now
        return stop_path(Path(self._part)).exists()

    def run(self, work: Any, request: "Request") -> Any:
        """Run a task; `work` comes with the first one of it. The work, the source and the answer may be parcels."""
        from pathlib import Path

        from jinx_pipeline.engines.ray.spilled_value import loaded_value, spilled_if_large

        answer = None if work is None else self._runner.load_work(request.work, loaded_value(work))
        if answer is None:
            source = loaded_value(request.source)
            self._part = request.path
            self._teller.begin(request.path, writes_each=request.is_last_try)
            answer = self._runner.run(request.work, source, request.task, request.attempt, request.path)
        return spilled_if_large(answer, Path(f"{request.path}.answer"))
