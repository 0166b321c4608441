"""What a node of the graph does with each of its tasks, whatever it is: one protocol for every kind of work."""

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
    """What a worker keeps between its tasks.

    Attributes:
        busy_with: Told what begins, and of how many rows it is. The driver is told it if the worker dies, and ends a
            worker that takes too long for these rows; 0 rows may take any time.
        sources: The sources that it has open.
    """

    busy_with: Callable[[str, int], None] = field(default=lambda *_: None)
    sources: SourceCache = field(default_factory=SourceCache)

    @property
    def device(self) -> str:
        """Where models run."""
        return "cuda:0" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu"


class Work(Protocol):
    """What a node does with each of its tasks; pickled once, and sent to every worker of its pool."""

    @property
    def pool(self) -> str:
        """Which workers run it."""
        ...

    @property
    def poison(self) -> Literal["row", "fatal"]:
        """What it means that a task of one row fails for good: the row is left out, or the run stops."""
        ...

    @property
    def suffix(self) -> str:
        """Of the path of what a task makes: `VIEW_SUFFIX` of a saved view over the source, else usually nothing."""
        ...

    @property
    def label(self) -> str:
        """What it does, for people."""
        ...

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """Do a task.

        Args:
            source: What the node reads; nothing where its work knows that itself.
            task: Which of its rows.
            path: Where to put what comes of it; no other attempt writes there.
            worker: What this worker keeps between its tasks.

        Returns:
            What is to be committed; the part is complete on the disk by then.
        """
        ...


@dataclass(frozen=True)
class Tasks:
    """The tasks of a node that reads no rows block by block.

    Attributes:
        work: What it does; None: it has no tasks.
        blocks: The tasks: a block of one row for each.
        source: What they read; nothing where the work knows that itself.
    """

    work: Work | None = None
    blocks: Mapping[int, int] = field(default_factory=dict[int, int])
    source: Source = field(default_factory=Source)


def pickled(work: Work) -> bytes:
    """A work for workers; functions of scripts and notebooks included.

    Raises:
        TypeError: An operator holds what cannot be sent to another process.
    """
    import cloudpickle

    try:
        return cloudpickle.dumps(work)
    except Exception as error:
        for operator in getattr(work, "operators", ()):
            try:
                cloudpickle.dumps(operator)
            except Exception:  # noqa: BLE001 - whatever an object's own code raises
                what = f"{operator.name} cannot be sent to workers: {error}; make such an object inside the function"
                raise TypeError(what) from error
        raise
