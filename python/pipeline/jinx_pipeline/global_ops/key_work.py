"""Work over the keys of all rows: tasks that look at partitions, and merges of key files before them."""

import time
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, Literal

import pyarrow as pa

from jinx_pipeline.exchange.division import Division
from jinx_pipeline.exchange.key_file import KeyFiles
from jinx_pipeline.model.receipt import OperatorFigures, Receipt
from jinx_pipeline.operators.api.key_exchange import merge_keys
from jinx_pipeline.operators.api.keyed import Exchanged, Keys, Partitioned
from jinx_pipeline.plan.source import Source
from jinx_pipeline.runlog.work_dir import published
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.worker.work import WorkerState


@dataclass(frozen=True)
class KeyWork(ABC):
    """Tasks over keys; each task counts as a row of the node, and none can be left out.

    Attributes:
        operator: The operator that the keys belong to.
        number: Its place in the recipe.
        step: The name of the step, for events.
    """

    operator: Exchanged
    number: int

    step: ClassVar[str] = ""

    _: KW_ONLY
    pool: str = "cpu"
    poison: Literal["fatal"] = "fatal"
    suffix: str = ""

    @property
    def label(self) -> str:
        """A readable description."""
        return f"{self.operator.name}, at the keys of all samples"

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of tasks."""

    @abstractmethod
    def write(self, file: IO[bytes], number: int) -> None:
        """Run a task, and write its result."""

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """See `Work.run`."""
        del source
        started, cpu = time.perf_counter(), time.process_time()
        worker.busy_with(self.operator.name, 0)
        with published(path) as file:
            self.write(file, task.first)
            size = file.tell()
        seconds = time.perf_counter() - started
        counts: dict[str, Any] = {"rows_in": 0, "rows_out": 0, "seconds": seconds, "peak_bytes": 0}
        figures = OperatorFigures(self.operator.name, self.number, cpu_seconds=time.process_time() - cpu, **counts)
        return Receipt(path.name, 1, size, seconds, figures=[figures])


@dataclass(frozen=True)
class LookWork(KeyWork):
    """Looks at partitions of the keys, and writes the results.

    Attributes:
        operator: The operator that decides.
        keys: All keys.
    """

    operator: Partitioned
    keys: Keys

    step = "look"

    @property
    def count(self) -> int:
        """The number of looks."""
        return self.keys.looks

    def write(self, file: IO[bytes], number: int) -> None:
        """Write the result of the operator's `look` as Arrow IPC."""
        table = self.operator.look(self.keys, number).combine_chunks()
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


@dataclass(frozen=True)
class MergeKeysWork(KeyWork):
    """Merges groups of key files, each into one file.

    Attributes:
        files: All key files.
        division: The division of the keys.
        runs: The index of the first file of each merge, and the number of files.
        edges: The edges of partitions, if they depend on the keys.
    """

    files: KeyFiles
    division: Division
    runs: tuple[int, ...]
    edges: Any = None

    step = "merge"

    @property
    def count(self) -> int:
        """The number of merged files."""
        return len(self.runs) - 1

    def write(self, file: IO[bytes], number: int) -> None:
        """Write a merged key file."""
        files = self.files.part(self.runs[number], self.runs[number + 1])
        merge_keys(file, self.operator, files, self.division, self.edges)
