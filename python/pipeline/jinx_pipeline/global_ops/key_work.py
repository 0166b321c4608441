"""Work over the keys of all rows: looks at a partition, and before them merges of key files."""

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
    """Several tasks over keys, one a row of the node; none of them can be left out.

    Attributes:
        operator: Whose keys these are.
        number: Its place in the recipe.
        step: What the tasks do.
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
        """Whose keys these are."""
        return f"{self.operator.name}, at the keys of all samples"

    @property
    @abstractmethod
    def count(self) -> int:
        """How many tasks there are."""

    @abstractmethod
    def write(self, file: IO[bytes], number: int) -> None:
        """Do one of them, and write what comes of it."""

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """As `Work.run`."""
        del source
        started, cpu = time.perf_counter(), time.process_time()
        worker.busy_with(self.operator.name, 0)
        with published(path) as file:
            self.write(file, task.first)
            size = file.tell()
        seconds = time.perf_counter() - started
        counted: dict[str, Any] = {"rows_in": 0, "rows_out": 0, "seconds": seconds, "peak_bytes": 0}
        figures = OperatorFigures(self.operator.name, self.number, cpu_seconds=time.process_time() - cpu, **counted)
        return Receipt(path.name, 1, size, seconds, figures=[figures])


@dataclass(frozen=True)
class LookWork(KeyWork):
    """Look at a partition of the keys, and write what is found there.

    Attributes:
        operator: Whose decision it is.
        keys: All keys.
    """

    operator: Partitioned
    keys: Keys

    step = "look"

    @property
    def count(self) -> int:
        """As many as the keys are divided among."""
        return self.keys.looks

    def write(self, file: IO[bytes], number: int) -> None:
        """Write what a look finds, as Arrow IPC."""
        table = self.operator.look(self.keys, number).combine_chunks()
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


@dataclass(frozen=True)
class MergeKeysWork(KeyWork):
    """Merge some key files into one.

    Attributes:
        files: All key files.
        division: Of the keys.
        runs: Where the files begin that are merged into one, and the number of files.
        edges: Where partitions begin, if that depends on the keys.
    """

    files: KeyFiles
    division: Division
    runs: tuple[int, ...]
    edges: Any = None

    step = "merge"

    @property
    def count(self) -> int:
        """As many as files are written."""
        return len(self.runs) - 1

    def write(self, file: IO[bytes], number: int) -> None:
        """Write a key file."""
        files = self.files.part(self.runs[number], self.runs[number + 1])
        merge_keys(file, self.operator, files, self.division, self.edges)
