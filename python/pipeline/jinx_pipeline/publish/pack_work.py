"""The work of writing the output: shards of a directory in parallel, any other output in one task."""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jinx.errors import CorruptFileError, JinxError, TruncatedFileError
from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.plan.source import Source
from jinx_pipeline.publish.outputs import write_output
from jinx_pipeline.publish.shards import write_empty, write_shard
from jinx_pipeline.publish.upload import upload_output, upload_shards
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.runlog.run_log import START_OVER
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.store.mirror import is_remote, push_part, readable
from jinx_pipeline.worker.work import WorkerState

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# In the worker's activity, this replaces the name of an operator.
_WRITING = "writing the output"


class OutputError(Exception):
    """Raised if no worker can write the output; the message says why."""

    concerns_all_rows = True
    needs_repair = True


@dataclass(frozen=True)
class PackWork:
    """Joins parts that hold samples: block n is written from the parts of group n.

    A group without rows becomes a directory without samples that keeps the column descriptions of the base.

    Attributes:
        writer: Keywords of `jinx.Writer`.
        bounds: The first row of each group in all parts, and the number of all rows; int64 of shape (groups + 1,).
        prefix: The prefix of the paths to write, in place of the directory of parts; empty: that directory.
        url: The directory of the output in an object store, where the shards go; the part is their manifest then.
        first: The number of the first shard there.
        label: A readable description.
    """

    writer: Mapping[str, Any]
    bounds: "npt.NDArray[np.int64]"
    prefix: str = ""
    url: str = ""
    first: int = 0
    label: str = "the shards of the output"

    pool: str = "cpu"
    poison: Literal["fatal"] = "fatal"
    suffix: str = ""

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """See `Work.run`."""
        started = time.perf_counter()
        worker.busy_with(_WRITING, 0)
        target = path.with_name(f"{path.name}.shards") if self.url else placed(path, self.prefix)
        first, end = self.bounds[task.block : task.block + 2].tolist()
        with _output_errors():
            rows = worker.sources.get(source)
            if first == end:
                result = write_empty(target, rows.dataset if source.base else None, self.writer)
            else:
                parts = map(readable, rows.slice(first, end - first).source.parts)
                result = write_shard(target, parts, self.writer)
        if self.url:
            upload_shards(target, self.url, self.first + task.block, path)
        else:
            push_part(target)
        return Receipt(path.name, result.samples, result.bytes, time.perf_counter() - started)


@dataclass(frozen=True)
class ExportWork:
    """Writes an output that is one file or not JINX, in a single task.

    Two workers cannot write one file of these formats: JINX, a view, Parquet and tar end in an index of all samples,
    and joining JSON lines would write them twice. In MDS, all samples together decide how a column is stored.

    Attributes:
        export: The kind of the output, and its final path.
        writer: Keywords of `jinx.Writer`.
        prefix: The prefix of the path of the directory to write to.
    """

    export: Export
    writer: Mapping[str, Any]
    prefix: str
    label: str = "the output"

    pool: str = "cpu"
    poison: Literal["fatal"] = "fatal"
    suffix: str = ""

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """See `Work.run`."""
        del task
        started = time.perf_counter()
        worker.busy_with(_WRITING, 0)
        target = placed(path, self.prefix)
        with _output_errors():
            rows = worker.sources.get(source)
            target.mkdir()
            result = write_output(self.export, target, rows, self.writer)
        if is_remote(self.export.path):
            upload_output(target, self.export)
        else:
            push_part(target)
        return Receipt(path.name, result.samples, result.bytes, time.perf_counter() - started)


def placed(path: Path, prefix: str) -> Path:
    """The path with a prefix instead of the directory of parts."""
    return Path(f"{prefix}{path.name}") if prefix else path


@contextmanager
def _output_errors() -> Generator[None]:
    """Raise errors in the data as `OutputError`, because every other worker would have them too."""
    try:
        yield
    except (CorruptFileError, TruncatedFileError) as error:
        raise OutputError(f"{error}; restore the file, or {START_OVER}") from error
    except (JinxError, ValueError, TypeError) as error:
        raise OutputError(f"{error}") from error
