"""Runs tasks in a worker of any engine; how answers reach the driver is up to the engine."""

import gc
import os
from collections.abc import Callable
from typing import Any

from jinx_pipeline.model.error_text import message_of, trace_of
from jinx_pipeline.operators.api.registry import FILE_MODULES, ChangedFileError
from jinx_pipeline.plan.source import Source
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.store.mirror import forget, writable
from jinx_pipeline.worker.freed_memory import keep_freed_memory
from jinx_pipeline.worker.operator_chain import MachineError, ThrottledError, concerns_all_rows, may_concern_all_rows
from jinx_pipeline.worker.process_state import AT_START, blamed
from jinx_pipeline.worker.work import Work, WorkerState

Answer = tuple[Any, ...]

# The exit code of a worker whose process an operator has changed permanently.
_CHANGED = 5


class UnwantedTask(BaseException):
    """The driver cancelled the current task."""

    concerns_all_rows = True


class TaskRunner:
    """Runs tasks, and keeps the loaded works and open files between tasks.

    Args:
        busy_with: Called as by `Chain` with each activity, and with an empty name at the end of a task.
        is_unwanted: Whether the driver has cancelled an attempt; called whenever an activity begins.
    """

    def __init__(
        self,
        busy_with: Callable[[str, int], None] = lambda *_: None,
        is_unwanted: Callable[[int], bool] = lambda _: False,
    ) -> None:
        keep_freed_memory()
        self._report_activity = busy_with
        self._is_unwanted = is_unwanted
        self._attempt = -1
        self._operator = ""
        self._works: dict[str, Work] = {}
        self._state = WorkerState(self._busy_with)

    def forget(self) -> None:
        """Drop the work and the sources of the run that has ended, and undo its operators' changes to this process."""
        if not AT_START.restore():
            # The limits that an operator set would make the next run fail, so the driver starts another process.
            os._exit(_CHANGED)
        self._works.clear()
        forget()
        self._state = WorkerState(self._busy_with)

    def load_files(self, files: tuple[str, ...]) -> Answer | None:
        """Load files with operators; returns an answer for the driver if one cannot be loaded."""
        from jinx_pipeline.operators.api.registry import load_file

        try:
            for path in files:
                load_file(path)
        except Exception as error:  # noqa: BLE001 - reported to the driver
            return _fatal(-1, error)
        return None

    def load_work(self, key: str, pickled: bytes) -> Answer | None:
        """Unpickle a work; returns an answer for the driver if that fails."""
        import cloudpickle

        try:
            self._works[key] = cloudpickle.loads(pickled)  # pickled by the driver that started us
        except Exception as error:  # noqa: BLE001 - reported to the driver
            is_of_file = isinstance(error, ImportError) and (error.name or "").startswith(FILE_MODULES)
            return _fatal(-1, ChangedFileError("a file of operators") if is_of_file else error)
        # Imported modules stay in memory, so the collector need not visit them again.
        gc.collect()
        gc.freeze()
        gc.enable()
        return None

    def run(self, key: str, source: Source, task: Task, attempt: int, path: str) -> Answer:
        """Run a task; the answer contains its receipt or its failure."""
        self._attempt = attempt
        try:
            self._raise_if_unwanted()
            return self._answer(key, source, task, attempt, path)
        except UnwantedTask:
            return "stopped", attempt
        finally:
            self._busy_with("", 0)

    def _answer(self, key: str, source: Source, task: Task, attempt: int, path: str) -> Answer:
        try:
            return "receipt", attempt, self._works[key].run(source, task, writable(path), self._state)
        except ThrottledError as error:
            return "throttled", attempt, error.seconds, error.what
        except MachineError as error:
            return _fatal(attempt, error.cause, error.operator)
        except MemoryError:
            return "memory", attempt, self._operator
        except Exception as error:  # noqa: BLE001 - the driver decides what a failure means
            if concerns_all_rows(error) or may_concern_all_rows(error):
                return _fatal(attempt, error)
            return "failed", attempt, blamed(message_of(error)), self._operator

    def _busy_with(self, name: str, rows: int) -> None:
        self._operator = name
        self._report_activity(name, rows)
        if name:
            self._raise_if_unwanted()

    def _raise_if_unwanted(self) -> None:
        if self._is_unwanted(self._attempt):
            raise UnwantedTask


def _fatal(attempt: int, error: BaseException, operator: str = "") -> Answer:
    needs_repair = getattr(error, "needs_repair", False)
    return "fatal", attempt, blamed(message_of(error)), trace_of(error), operator, needs_repair
