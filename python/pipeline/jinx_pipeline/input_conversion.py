"""Converts a source with the workers of an engine, piece by piece; an interrupted conversion is resumed."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jinx
from jinx_pipeline.engines.driver import Driver
from jinx_pipeline.engines.engine import Engine
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.model.receipt import BadRow
from jinx_pipeline.plan.inputs import UNFINISHED
from jinx_pipeline.plan.pieces import pieces_of
from jinx_pipeline.plan.source import Source
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_log import RunLog
from jinx_pipeline.runlog.work_dir import WorkDir, publish_text, signatures_path
from jinx_pipeline.schedule.graph import Graph, Node
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.store.mirror import fetched, is_remote, mirrored, remove_local, url_of
from jinx_pipeline.worker.convert_work import ConvertWork

_NODE = "convert"
# The run stops after a piece has failed this many times, because no piece can be left out.
_STRIKES = 5


class _Pieces:
    """The `engines.driver.Streams` of pieces: the `ConvertWork` knows its pieces, and no row can be left out."""

    def read_by(self, task: Task) -> tuple[Source, Task]:
        """An empty source, because the work itself knows what to read; the task's first row is its piece number."""
        return Source(), replace(task, first=task.block)

    def named(self, node: str, bad: BadRow) -> BadRow:
        """The row, unchanged."""
        del node
        return bad

    def counts(self, node: str) -> bool:
        """True, as for all nodes of a run."""
        del node
        return True


@dataclass(frozen=True)
class InputConversion:
    """Converts sources to datasets.

    Attributes:
        engine: The engine with the workers.
        threads: Threads of one worker.
    """

    engine: Engine
    threads: int

    def __call__(self, source: str, target: Path, rejects: Path) -> None:
        """Convert a source.

        Args:
            source: The path in the recipe.
            target: The dataset to make, a directory.
            rejects: The file for unreadable rows, if there are any.
        """
        if url_of(target) is not None or is_remote(source):
            self._convert_here(source, target, rejects)
            return
        pieces = tuple(pieces_of(source))
        if len(pieces) < 2:  # noqa: PLR2004 - a worker costs more than it saves
            jinx.convert(source, target, overwrite=True, on_error="skip", rejects=rejects)
            return
        work = ConvertWork(source, pieces, self.threads)
        with WorkDir(target.with_name(f"{target.name}{UNFINISHED}")) as work_dir, _ledger(work_dir, work) as ledger:
            ledger.claim()
            ledger.sweep()
            self._run(work, ledger)
            _join(ledger, len(pieces), target, rejects)

    def _convert_here(self, source: str, target: Path, rejects: Path) -> None:
        """Convert a source in this process; a file in an object store is copied to this node first."""
        copy = mirrored(source) if is_remote(source) and Path(source).suffix else None
        if copy is not None:
            source = str(fetched(copy))
        jinx.convert(source, target, overwrite=True, on_error="skip", rejects=rejects)
        if copy is not None:
            remove_local(copy)

    def _run(self, work: ConvertWork, ledger: Ledger) -> None:
        paths = tuple(dict.fromkeys(piece.path for piece in work.pieces))
        workers = self.engine.workers(ledger.directory, paths, [])
        try:
            graph = Graph((Node(_NODE, work.pool, strikes=_STRIKES),))
            driver = Driver(graph, _Pieces(), WorkerPool(workers), self.engine.counts(), ledger)
            driver.begin(_NODE, dict.fromkeys(range(len(work.pieces)), 1), {_NODE: work})
            driver.run()
        finally:
            workers.close()


def _ledger(work_dir: WorkDir, work: ConvertWork) -> Ledger:
    """The ledger of an interrupted conversion, or a new one."""
    plan: dict[str, Any] = {"pieces": [asdict(piece) for piece in work.pieces], "version": jinx.__version__}
    directory = work_dir.current()
    if directory is not None:
        ledger = Ledger(directory)
        if ledger.header.plan == plan:
            return ledger
    with work_dir.new_run() as directory:
        RunLog.create(directory.log, directory.run, plan)
    return Ledger(directory)


def _join(ledger: Ledger, pieces: int, target: Path, rejects: Path) -> None:
    """Join all pieces into one dataset; an interrupted call is resumed."""
    node, parts = _NODE, ledger.directory.parts
    lines: list[str] = []
    samples = 0
    for number in range(pieces):
        (piece,) = ledger.pieces(node, number)
        part = parts / str(piece.part)
        lines += [json.dumps(record, ensure_ascii=False) for record in _rejected(signatures_path(part), samples)]
        samples += piece.rows_out
    if lines:
        publish_text(rejects, "".join(f"{line}\n" for line in lines))
    target.mkdir(exist_ok=True)
    for number in range(pieces):
        part = parts / ledger.parts(node, number)[0]
        if part.exists():
            part.rename(target / f".part-{number:05}-of-{pieces:05}")
    jinx.merge(target)


def _rejected(path: Path, samples_before: int) -> Iterator[dict[str, Any]]:
    """The unreadable rows of a piece, each with the number of samples before it in the whole source."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        yield {"samples_before": record["samples_before"] + samples_before, "reason": record["reason"]}
