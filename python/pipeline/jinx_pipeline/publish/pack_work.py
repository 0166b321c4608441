"""Writing the output as work: shards of a directory side by side, any other output by one task."""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jinx.errors import JinxError
from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.plan.source import Source
from jinx_pipeline.publish.outputs import write_output
from jinx_pipeline.publish.shards import write_empty, write_shard
from jinx_pipeline.recipe.model import Export
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.worker.work import WorkerState

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# In place of an operator's name.
_WRITING = "writing the output"


class OutputError(Exception):
    """The output cannot be written, by whatever worker; its message says why."""

    concerns_all_rows = True
    needs_repair = True


@dataclass(frozen=True)
class PackWork:
    """Joins parts that hold samples: block n is written from the parts of group n.

    A group of no rows is a directory without samples, which keeps what the base says of its columns.

    Attributes:
        writer: Keywords of `jinx.Writer`.
        bounds: The first row of each group in all parts, and the number of all rows; int64 of shape (groups + 1,).
        prefix: Of the paths of what is written, in place of the directory of parts; empty: written there.
        label: What is written, for people.
    """

    writer: Mapping[str, Any]
    bounds: "npt.NDArray[np.int64]"
    prefix: str = ""
    label: str = "the shards of the output"

    pool: str = "cpu"
    poison: Literal["fatal"] = "fatal"
    suffix: str = ""

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """As `Work.run`."""
        started = time.perf_counter()
        worker.busy_with(_WRITING, 0)
        target = placed(path, self.prefix)
        first, end = self.bounds[task.block : task.block + 2].tolist()
        with _same_for_all():
            rows = worker.sources.get(source)
            if first == end:
                done = write_empty(target, rows.dataset if source.base else None, self.writer)
            else:
                done = write_shard(target, rows.slice(first, end - first).source.parts, self.writer)
        return Receipt(path.name, done.samples, done.bytes, time.perf_counter() - started)


@dataclass(frozen=True)
class ExportWork:
    """Writes an output that is one file, or of another format, in its one task.

    Two workers cannot write one file of these formats: JINX, a view, Parquet and tar end in an index of all samples,
    and joining JSON lines would write them twice. In MDS, all samples decide together how a column is stored.

    Attributes:
        export: What, and where it will be moved to.
        writer: Keywords of `jinx.Writer`.
        prefix: Of the path of the directory in which it is written.
    """

    export: Export
    writer: Mapping[str, Any]
    prefix: str
    label: str = "the output"

    pool: str = "cpu"
    poison: Literal["fatal"] = "fatal"
    suffix: str = ""

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """As `Work.run`."""
        del task
        started = time.perf_counter()
        worker.busy_with(_WRITING, 0)
        target = placed(path, self.prefix)
        with _same_for_all():
            rows = worker.sources.get(source)
            target.mkdir()
            done = write_output(self.export, target, rows, self.writer)
        return Receipt(path.name, done.samples, done.bytes, time.perf_counter() - started)


def placed(path: Path, prefix: str) -> Path:
    """Where something goes instead of the directory of parts."""
    return Path(f"{prefix}{path.name}") if prefix else path


@contextmanager
def _same_for_all() -> Generator[None]:
    """Errors of what is written would be the same in every other worker."""
    try:
        yield
    except (JinxError, ValueError, TypeError) as error:
        raise OutputError(f"{error}") from error
