"""Converts the pieces of a source to datasets, before anything else is done with them."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Literal

import jinx
from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.plan.pieces import Piece, lines_of
from jinx_pipeline.plan.source import Source
from jinx_pipeline.runlog.work_dir import signatures_path
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.store.mirror import push, push_part
from jinx_pipeline.worker.work import WorkerState


@dataclass(frozen=True)
class ConvertWork:
    """Converts the pieces of a source; each piece is a row of the node, and none can be left out.

    Attributes:
        source: The source, as the recipe names it.
        pieces: Its pieces, in order.
        threads: Threads of one worker.
    """

    source: str
    pieces: tuple[Piece, ...]
    threads: int

    pool: str = "cpu"
    poison: Literal["fatal"] = "fatal"
    suffix: str = ""

    @property
    def label(self) -> str:
        """A readable description."""
        return f"{self.source}, which is converted first"

    def run(self, source: Source, task: Task, path: Path, worker: WorkerState) -> Receipt:
        """See `Work.run`; unreadable rows are listed in a file next to the part."""
        del source
        started = time.perf_counter()
        worker.busy_with(self.label, 0)
        piece = self.pieces[task.first]
        with _opened(piece) as readable:
            result = jinx.convert(
                readable,
                path,
                overwrite=True,
                input_format=piece.format,
                output_format="jinx",
                on_error="skip",
                rejects=signatures_path(path),
                threads=self.threads,
            )
        if signatures_path(path).exists():
            push(signatures_path(path))
        push_part(path)
        return Receipt(path.name, result.samples, result.bytes + result.sidecar_bytes, time.perf_counter() - started)


@contextmanager
def _opened(piece: Piece) -> Generator[str]:
    """A path from which the bytes of a piece can be read."""
    if piece.stop is None:
        yield piece.path
        return
    reading, writing = os.pipe()
    thread = Thread(target=_feed, args=(piece, piece.stop, writing), daemon=True)
    thread.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)  # this also ends the thread
        thread.join()


def _feed(piece: Piece, stop: int, writing: int) -> None:
    # The pipe's reader may have failed.
    with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe, Path(piece.path).open("rb") as file:
        for data in lines_of(file, piece.start, stop):
            pipe.write(data)
