"""A worker of the Ray engine, as it runs on a node.

This module is sent as code, so that it can also tell of a node on which the package is missing: at the top it imports
nothing of it.
"""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinx_pipeline.engines.worker_backend import Request

Check = Callable[[], str | None]


class RayActor:
    """Runs tasks one after another.

    Args:
        folder: The driver's working directory, for relative paths; a node without it keeps its own.
        path: Where the driver finds modules: functions may come from files next to its script.
        threads: Threads that kernels use.
        sees_gpus: Whether libraries may see a GPU.
        files: Python files with operators.
        spare_pandas: See `pandas_import.spare`.
        memory_limit: Bytes of memory that it may use, besides what Ray uses in its process; None: no limit.
        row_seconds: It ends itself when it takes longer for each row in its hands; None: no limit.
    """

    def __init__(
        self,
        folder: str,
        path: list[str],
        *,
        threads: int,
        sees_gpus: bool,
        files: tuple[str, ...],
        spare_pandas: bool,
        memory_limit: int | None,
        row_seconds: float | None = None,
    ) -> None:
        # Before anything is imported that reads them.
        os.environ["RAYON_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)
        if not sees_gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        if os.path.isdir(folder):  # noqa: PTH112 - str in
            os.chdir(folder)
        sys.path.extend(one for one in path if one not in sys.path)
        self._files = files
        self._spare_pandas = spare_pandas
        self._memory_limit = memory_limit
        self._row_seconds = row_seconds
        self._teller: Any = None
        self._runner: Any = None

    def hello(self, check: Check) -> tuple[Any, ...]:
        """Check the node and load the files; the first call, and the probe of a worker that was not reachable.

        Whatever fails is told of the node: others may do better.
        """
        import socket

        import ray  # pyright: ignore[reportMissingImports] - the extra `ray`

        node, host = ray.get_runtime_context().get_node_id(), socket.gethostname()
        try:
            problem = check() or self._prepared()
        except Exception as error:  # noqa: BLE001 - a package that cannot be imported may raise anything
            problem = f"node {host}: {type(error).__name__}: {error}"
        return ("ready", os.getpid(), node, host) if problem is None else ("unfit", node, problem)

    def _prepared(self) -> str | None:
        """Load what tasks need, once; returns what is wrong with a file or with the memory that this takes."""
        if self._runner is not None:
            return None
        from jinx_pipeline.worker.memory import private_bytes

        of_ray = private_bytes(os.getpid())
        from jinx_pipeline.worker.crash_note import CrashReporter
        from jinx_pipeline.worker.pandas_import import spare
        from jinx_pipeline.worker.task_runner import TaskRunner

        if self._spare_pandas:
            spare()
        self._teller = CrashReporter()
        runner = TaskRunner(self._teller.busy_with)
        answer = runner.load_files(self._files)
        if answer is not None:
            return str(answer[2])
        if self._memory_limit is not None:
            taken = private_bytes(os.getpid()) - of_ray
            if taken > self._memory_limit:
                return f"a worker takes {taken:,} bytes before its first task, more than memory={self._memory_limit:,}"
            self._teller.die_above(of_ray + self._memory_limit)
        if self._row_seconds is not None:
            self._teller.die_after(self._row_seconds)
        self._runner = runner
        return None

    def run(self, work: Any, request: "Request") -> Any:
        """Run a task; `work` comes with the first one of it. The work, the source and the answer may be parcels."""
        from pathlib import Path

        from jinx_pipeline.engines.ray.spilled_value import loaded_value, spilled_if_large

        answer = None if work is None else self._runner.load_work(request.work, loaded_value(work))
        if answer is None:
            source = loaded_value(request.source)
            self._teller.begin(request.path, tells_all=request.is_last_try)
            answer = self._runner.run(request.work, source, request.task, request.attempt, request.path)
        return spilled_if_large(answer, Path(f"{request.path}.answer"))
