"""A worker of the Ray engine, as it runs on a node.

This module is sent as code and imports nothing of the package at the top, so that it also runs on a node without it.
"""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jinx_pipeline.engines.worker_backend import Request

Check = Callable[[], str | None]

# The interval for checking whether the task is cancelled.
_LOOK_SECONDS = 1.0


class RunSettings(NamedTuple):
    """The settings of a run, which a worker receives before its first task.

    Attributes:
        run: A different value for each run.
        folder: The driver's working directory, for relative paths; ignored on a node without it.
        path: The driver's import path: functions may come from files next to its script.
        files: Python files with operators.
        spare_pandas: See `pandas_import.spare`.
        memory_limit: Bytes of memory that the worker may use, in addition to the memory that Ray needs in its process;
            None for no limit.
        row_seconds: The worker kills itself when it takes longer than this for each row of its activity; None: no
            limit.
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
        # Set before importing any library that reads them.
        os.environ["RAYON_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)
        if threads > 1:
            os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as in `worker_environment`
        if not sees_gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self._path = list(sys.path)
        self._ray_bytes: int | None = None
        self._settings: RunSettings | None = None
        self._part = ""
        self._looked_at = 0.0
        self._crash_reporter: Any = None
        self._runner: Any = None

    def prepare(self, check: Check, settings: RunSettings) -> tuple[Any, ...]:
        """Check the node and load the files. This is the first call of a run; it also probes an unreachable worker.

        Any failure is reported as a problem of the node, since other nodes may succeed.
        """
        import socket

        import ray  # pyright: ignore[reportMissingImports] - installed with the extra `ray`

        node, host = ray.get_runtime_context().get_node_id(), socket.gethostname()
        try:
            problem = check() or self._load(settings)
        except Exception as error:  # noqa: BLE001 - a package that cannot be imported may raise anything
            problem = f"node {host}: {type(error).__name__}: {error}"
        return ("ready", os.getpid(), node, host) if problem is None else ("unfit", node, problem)

    def _load(self, settings: RunSettings) -> str | None:
        """Load the files of the run once; returns the problem if a file is bad or memory is short."""
        if self._settings is not None and self._settings.run == settings.run:
            return None
        from jinx_pipeline.worker.memory import private_bytes

        if self._ray_bytes is None:
            self._ray_bytes = private_bytes(os.getpid())
        ray_bytes = self._ray_bytes
        if self._runner is not None:
            from jinx_pipeline.worker.renewal import forget_run

            self._crash_reporter.close()
            self._runner.forget()
            forget_run(None, settings.folder)
        elif os.path.isdir(settings.folder):  # noqa: PTH112 - str in
            os.chdir(settings.folder)
        sys.path[:] = [*self._path, *(entry for entry in settings.path if entry not in self._path)]
        from jinx_pipeline.worker.crash_note import CrashReporter
        from jinx_pipeline.worker.pandas_import import spare
        from jinx_pipeline.worker.task_runner import TaskRunner

        if settings.spare_pandas:
            spare()
        self._crash_reporter = CrashReporter()
        runner = TaskRunner(self._crash_reporter.busy_with, self._is_unwanted)
        answer = runner.load_files(settings.files)
        if answer is not None:
            return str(answer[2])
        limit = settings.memory_limit
        if limit is not None:
            used = private_bytes(os.getpid()) - ray_bytes
            if used > limit:
                return f"a worker takes {used:,} bytes before its first task, more than memory={limit:,}"
            self._crash_reporter.die_above(ray_bytes + limit)
        if settings.row_seconds is not None:
            self._crash_reporter.die_after(settings.row_seconds)
        self._runner, self._settings = runner, settings
        return None

    def _is_unwanted(self, attempt: int) -> bool:
        """Whether the driver has written a stop file next to the part; the storage is checked once a second."""
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
        """Run a task; `work` is sent with its first task. The work, source and answer may be spilled values."""
        from pathlib import Path

        from jinx_pipeline.engines.ray.spilled_value import loaded_value, spilled_if_large
        from jinx_pipeline.store.mirror import writable

        answer = None if work is None else self._runner.load_work(request.work, loaded_value(work))
        if answer is None:
            source = loaded_value(request.source)
            self._part = request.path
            self._crash_reporter.begin(str(writable(request.path)), writes_each=request.is_last_try)
            answer = self._runner.run(request.work, source, request.task, request.attempt, request.path)
        return spilled_if_large(answer, Path(f"{request.path}.answer"))
