"""Tasks over the keys of all rows, which any engine runs: looks at a partition, and before them merges of key files."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

import pyarrow as pa

from jinx_pipeline.exchange.division import Division
from jinx_pipeline.exchange.key_file import KeyFiles
from jinx_pipeline.model.receipt import OperatorFigures, Receipt
from jinx_pipeline.operators.api.key_exchange import merge_keys
from jinx_pipeline.operators.api.keyed import Exchanged, Keys, Partitioned
from jinx_pipeline.runlog.work_dir import published
from jinx_pipeline.schedule.task import Task


@dataclass(frozen=True)
class KeyTask(ABC):
    """What a worker needs for one of several tasks over keys; it has the place of a stage.

    Attributes:
        operator: Whose keys these are.
        number: Its place in the recipe.
        work: What the tasks do, for people.
        pool: The kind of worker.
        output: A file of the task's own.
    """

    operator: Exchanged
    number: int

    work: ClassVar[str] = ""
    pool: ClassVar[str] = "cpu"
    output: ClassVar[str] = "file"

    @property
    @abstractmethod
    def count(self) -> int:
        """How many tasks there are."""

    @abstractmethod
    def write(self, file: IO[bytes], number: int) -> None:
        """Do one of them, and write what comes of it."""


@dataclass(frozen=True)
class LookTask(KeyTask):
    """Look at a partition of the keys, and write what is found there.

    Attributes:
        operator: Whose decision it is.
        keys: All keys.
    """

    operator: Partitioned
    keys: Keys

    work = "look"

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
class MergeTask(KeyTask):
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

    work = "merge"

    @property
    def count(self) -> int:
        """As many as files are written."""
        return len(self.runs) - 1

    def write(self, file: IO[bytes], number: int) -> None:
        """Write a key file."""
        files = self.files.part(self.runs[number], self.runs[number + 1])
        merge_keys(file, self.operator, files, self.division, self.edges)


def run_key_task(
    stage: KeyTask, task: Task, path: Path, *, busy_with: Callable[[str, int], None] = lambda *_: None
) -> Receipt:
    """Do the task over keys that `task` names."""
    started, cpu = time.perf_counter(), time.process_time()
    operator = stage.operator
    busy_with(operator.name, 0)
    with published(path) as file:
        stage.write(file, task.first)
        size = file.tell()
    seconds = time.perf_counter() - started
    counted: dict[str, Any] = {"rows_in": 0, "rows_out": 0, "seconds": seconds, "peak_bytes": 0}
    figures = OperatorFigures(operator.name, stage.number, cpu_seconds=time.process_time() - cpu, **counted)
    return Receipt(path.name, 1, size, seconds, figures=[figures])
