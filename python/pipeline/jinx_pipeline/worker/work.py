"""The protocol for every kind of work that a node of the graph does in its tasks."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.plan.source import Source, SourceCache
from jinx_pipeline.schedule.task import Task

# The suffix of a part that is a saved view.
VIEW_SUFFIX: Final = ".jinx"


@dataclass(frozen=True)
class WorkerState:
    """The objects that a worker keeps between its tasks.

    Attributes:
        busy_with: Called with each activity that begins and its number of rows. The driver reports the activity if
            the worker dies, and ends a worker that takes too long for these rows; 0 rows: no time limit.
        sources: The open sources.
    """

    busy_with: Callable[[str, int], None] = field(default=lambda *_: None)
    sources: SourceCache = field(default_factory=SourceCache)

    @property
    def device(self) -> str:
        """The device for models."""
        return "cuda:0" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu"


class Work(Protocol):
    """The work of a node for each of its tasks; it is pickled once, and sent to every worker of its pool."""

    @property
    def pool(self) -> str:
        """The pool of the workers that run it."""
        ...

    @property
    def poison(self) -> Literal["row", "fatal"]:
        """What happens if a task of one row keeps failing: the row is left out, or the run stops."""
        ...

    @property
    def suffix(self) -> str:
        """The suffix of the path of a part: `VIEW_SUFFIX` for a saved view over the source, otherwise usually empty."""
        ...

    @property
    def label(self) -> str:
        """A readable description."""
        ...

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """Do a task.

        Args:
            source: The rows that the node reads; empty if the work itself knows them.
            task: The rows of the source to process.
            path: The path of the part to write; no other attempt writes there.
            worker: The objects that this worker keeps between its tasks.

        Returns:
            The receipt to commit; the part is complete and on disk by then.
        """
        ...


@dataclass(frozen=True)
class Tasks:
    """The tasks of a node that reads no rows block by block.

    Attributes:
        work: The work of the node; None if it has no tasks.
        blocks: The tasks, each as a block of one row.
        source: The rows that the tasks read; empty if the work itself knows them.
    """

    work: Work | None = None
    blocks: Mapping[int, int] = field(default_factory=dict[int, int])
    source: Source = field(default_factory=Source)


def pickled(work: Work) -> bytes:
    """A pickled work, with the functions of scripts and notebooks.

    Raises:
        TypeError: An operator holds an object that cannot be sent to another process.
    """
    import cloudpickle

    try:
        return cloudpickle.dumps(work)
    except Exception as error:
        for operator in getattr(work, "operators", ()):
            try:
                cloudpickle.dumps(operator)
            except Exception:  # noqa: BLE001 - an object's own code may raise anything
                message = f"{operator.name} cannot be sent to workers: {error}; make such an object inside the function"
                raise TypeError(message) from error
        raise
