"""What a worker of any engine does with a task; how it answers is up to the engine."""

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinx_pipeline.commit.ledger import Receipt
from jinx_pipeline.engines.chain import MachineError, ThrottledError, concerns_all_rows, may_concern_all_rows
from jinx_pipeline.engines.error_text import message_of, trace_of
from jinx_pipeline.engines.freed_memory import keep_freed_memory
from jinx_pipeline.engines.run_probe import run_probe
from jinx_pipeline.engines.run_task import run_task
from jinx_pipeline.engines.workers import Event, Failed, Finished, Hopeless, Ready
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.registry import FILE_MODULES, ChangedFileError
from jinx_pipeline.plan.probe import Probe
from jinx_pipeline.plan.source import SourceCache
from jinx_pipeline.schedule.task import Cause
from jinx_pipeline.shuffle.phase import Phase, run_phase

Answer = tuple[Any, ...]


class TaskRunner:
    """Stages that a worker knows, and datasets that it has open.

    Args:
        busy_with: Told the name of what begins and its rows, as `Chain` does, and an empty one at the end of a task.
    """

    def __init__(self, busy_with: Callable[[str, int], None] = lambda *_: None) -> None:
        keep_freed_memory()
        self._tell = busy_with
        self._operator = ""
        self._stages: dict[str, Any] = {}
        self._sources = SourceCache()

    def load_files(self, files: tuple[str, ...]) -> Answer | None:
        """Load files with operators; returns what to tell the driver if one cannot be loaded."""
        from jinx_pipeline.operators.registry import load_file

        try:
            for path in files:
                load_file(path)
        except Exception as error:  # noqa: BLE001 - it is reported
            return _fatal(-1, error)
        return None

    def load_stage(self, key: str, pickled: bytes) -> Answer | None:
        """Unpickle a stage; returns what to tell the driver if that fails."""
        import cloudpickle

        try:
            self._stages[key] = cloudpickle.loads(pickled)  # made by the driver that started us
        except Exception as error:  # noqa: BLE001 - it is reported
            is_of_file = isinstance(error, ImportError) and (error.name or "").startswith(FILE_MODULES)
            return _fatal(-1, ChangedFileError("a file of operators") if is_of_file else error)
        # What was imported stays, so the collector need not go through it again and again; what was left over goes.
        gc.collect()
        gc.freeze()
        return None

    def run(self, key: str, source: Any, task: Any, attempt: int, path: str) -> Answer:
        """Run a task; whatever happens to it becomes an answer."""
        stage = self._stages[key]
        try:
            return "receipt", attempt, self._receipt(stage, source, task, Path(path))
        except ThrottledError as error:
            return "throttled", attempt, error.seconds, error.what
        except MachineError as error:
            return _fatal(attempt, error.cause, error.operator)
        except MemoryError:
            return "memory", attempt, self._operator
        except Exception as error:  # noqa: BLE001 - the driver decides what a failure means
            if concerns_all_rows(error) or may_concern_all_rows(error):
                return _fatal(attempt, error)
            return "failed", attempt, message_of(error), self._operator
        finally:
            self._busy_with("", 0)

    def _busy_with(self, name: str, rows: int) -> None:
        self._operator = name
        self._tell(name, rows)

    def _receipt(self, stage: Any, source: Any, task: Any, path: Path) -> Receipt:
        if isinstance(stage, Phase):
            return run_phase(stage, source, task, path, busy_with=self._busy_with)
        device = "cuda:0" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu"
        if isinstance(stage, Probe):
            return run_probe(stage, self._sources.get(source), path, device, self._busy_with)
        ctx = Context(
            seed=stage.seed,
            device=device,
            threads=stage.threads,
            media_dir=stage.media_dir,
            answers_dir=stage.answers_dir,
        )
        return run_task(stage, self._sources.get(source), task, path, ctx, busy_with=self._busy_with)


def _fatal(attempt: int, error: BaseException, operator: str = "") -> Answer:
    needs_repair = getattr(error, "needs_repair", False)
    return "fatal", attempt, message_of(error), trace_of(error), operator, needs_repair


def event_of(worker: str, answer: Answer) -> Event:
    """What an answer of a worker means."""
    kind = answer[0]
    if kind == "ready":
        return Ready(worker, answer[2] if len(answer) > 2 else "")  # noqa: PLR2004 - kind, process, node
    if kind == "receipt":
        return Finished(worker, answer[1], answer[2])
    if kind == "throttled":
        return Failed(worker, answer[1], Cause.THROTTLED, answer[3], seconds=answer[2])
    if kind == "memory":
        return Failed(worker, answer[1], Cause.MEMORY, "MemoryError", operator=answer[2])
    if kind == "fatal":
        return Hopeless(worker, answer[2], answer[3], operator=answer[4], needs_repair=answer[5])
    return Failed(worker, answer[1], Cause.FAILED, answer[2], operator=answer[3])
