"""The directory of a run: its plan, its journal, and the parts that are not published yet.

plan.json       what is run on what, fixed once
recipe.json     the recipe, for resume and replay
journal.jsonl   finished work; its first line names the run of the plan
events.jsonl    what happened, for people and monitors
parts/          output of tasks: s<segment>.<stage>-b<block>-<first row>.<attempt>-<driver>
globals/        orders that the plan and global operators have decided; what the footers of the inputs say together
inputs/         inputs that were converted, by fingerprint
answers/        what models behind URLs answered, by URL and request
"""

import errno
import json
import os
import secrets
import shutil
from collections.abc import Container, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from jinx_pipeline.schedule.task import Task
from jinx_pipeline.store.file_lock import FileLock, LockedError
from jinx_pipeline.store.sync import sync_folder

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


class WorkDir:
    """One run's directory; locked while it is open, so that two drivers never write the same output.

    Args:
        path: The directory; it is made if need be.

    Raises:
        RuntimeError: Another process has it open.
        ValueError: It holds other files than those of a run.

    Attributes:
        path: The directory, absolute.
        driver: Another value for each process that opens it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        if self.path.is_dir() and not (self.path / "lock").exists() and (other := next(self.path.iterdir(), None)):
            raise ValueError(f"{self.path} is not the working directory of a run: it holds {other.name}; name another")
        self._lock = _locked(self.path)
        for folder in (self.parts, self.globals):
            folder.mkdir(exist_ok=True)
        # Workers of a driver that was killed may still write for a while, with attempts that we also count.
        self.driver = secrets.token_hex(3)

    @property
    def parts(self) -> Path:
        """Where tasks put their output."""
        return self.path / "parts"

    @property
    def globals(self) -> Path:
        """Where global operators put the order that they have decided."""
        return self.path / "globals"

    @property
    def inputs(self) -> Path:
        """Where converted inputs are kept."""
        return self.path / "inputs"

    @property
    def answers(self) -> Path:
        """Where the answers of models behind URLs are kept."""
        return self.path / "answers"

    @property
    def journal_path(self) -> Path:
        """The journal."""
        return self.path / "journal.jsonl"

    @property
    def events_path(self) -> Path:
        """The log of events."""
        return self.path / "events.jsonl"

    def part_path(self, task: Task, attempt: int, suffix: str) -> Path:
        """Where an attempt at a task puts its rows; no two attempts share it, of whatever driver."""
        name = f"s{task.node}-b{task.block:06}-{task.first:09}.{attempt}-{self.driver}{suffix}"
        return self.parts / name

    def read_plan(self) -> dict[str, Any] | None:
        """The plan of an earlier run; None if there is none."""
        path = self.path / "plan.json"
        return json.loads(path.read_text("utf-8")) if path.exists() else None

    def write_plan(self, plan: dict[str, Any]) -> None:
        """Fix the plan, at once."""
        publish_text(self.path / "plan.json", json.dumps(plan, indent=1, ensure_ascii=False) + "\n")

    def clear(self, keep: Container[str | None] = ()) -> None:
        """Forget an earlier run, except for its converted inputs and what models answered.

        Without a plan, nothing else that lies here is believed, so that this may end at any point.

        Args:
            keep: Names in `globals/` that the next run has put there.
        """
        (self.path / "plan.json").unlink(missing_ok=True)
        sync_folder(self.path)
        for name in ("journal.jsonl", "recipe.json", "events.jsonl", "quarantine.jsonl", "trace.jsonl"):
            (self.path / name).unlink(missing_ok=True)
        for path in (*self.parts.iterdir(), *(one for one in self.globals.iterdir() if one.name not in keep)):
            remove_part(path)

    def close(self) -> None:
        """Release the lock; the directory of a run that was refused before it began is removed."""
        if not (self.path / "plan.json").exists() and not self.inputs.exists():
            with suppress(OSError):
                self.clear()
                self.globals.rmdir()
                self.parts.rmdir()
                if all(one.is_file() and one.stat().st_size == 0 for one in self.path.iterdir()):
                    shutil.rmtree(self.path)
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            error.filename = str(self.path)  # a write does not say to which file
        self.close()


def _locked(path: Path) -> FileLock:
    while True:
        path.mkdir(parents=True, exist_ok=True)
        try:
            return FileLock(path / "lock")
        except LockedError:
            raise RuntimeError(f"{path}: another process runs this pipeline; wait for it, or stop it") from None
        except FileNotFoundError:
            continue  # a refused run has removed the directory meanwhile


def publish_text(path: Path, text: str) -> None:
    """Write a small file that is there whole or not at all; what UTF-8 cannot hold is written with a backslash."""
    with published(path) as file:
        file.write(text.encode(errors="backslashreplace"))


@contextmanager
def published(path: Path, *, syncs_folder: bool = True) -> Generator[IO[bytes]]:
    """A file to write that is there whole or not at all, and stays when the power fails.

    Args:
        path: The file.
        syncs_folder: Without it, the caller syncs the directory afterwards, or publishes something else in it.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    if syncs_folder:
        sync_folder(path.parent)


SIGNATURES = ".signatures"


def signatures_path(part: Path) -> Path:
    """Where the signatures of a part's rows are."""
    return part.with_name(part.name + SIGNATURES)


def crash_note_path(part: Path) -> Path:
    """Where a worker says what it was busy with when it died."""
    return part.with_name(f"{part.name}.last-words")


def remove_part(path: Path) -> None:
    """Remove a part in any of its forms: a directory, or a file with its sidecar."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
        path.with_suffix(".binx").unlink(missing_ok=True)
