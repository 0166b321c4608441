"""The working directory: which run it has, what its runs share, and what people look at.

CURRENT             the id of the run, replaced at once when a run is started over
runs/<id>/          the run: its log, parts and decisions
inputs/             inputs that were converted, by what they hold or by name and time; digests of large files
answers/            what models behind URLs answered, by URL and request
events.jsonl        what happens, for people and monitors
workers.log         what workers print
quarantine.jsonl    at the end: rows on which something failed
trace.jsonl         at the end: examples of what operators did
"""

import errno
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from jinx_pipeline.runlog.run_directory import CURRENT, RUNS, RunDirectory, current_directory, current_run
from jinx_pipeline.store.file_lock import FileLock, LockedError
from jinx_pipeline.store.local_store import LocalStore, published

if TYPE_CHECKING:
    from jinx_pipeline.store.store import Store

__all__ = ["SIGNATURES", "WorkDir", "crash_note_path", "publish_text", "published", "remove_part", "signatures_path"]

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


class WorkDir:
    """A working directory; locked while it is open, so that two drivers never write the same output.

    Args:
        path: The directory; it is made if need be.

    Raises:
        RuntimeError: Another process has it open.
        ValueError: It holds other files than those of a run, or those of an earlier version.

    Attributes:
        path: The directory, absolute.
        driver: Another value for each process that opens it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        if self.path.is_dir() and not (self.path / "lock").exists() and (other := next(self.path.iterdir(), None)):
            raise ValueError(f"{self.path} is not the working directory of a run: it holds {other.name}; name another")
        self._lock = _locked(self.path)
        self._store: Store = LocalStore(self.path)
        self.driver = secrets.token_hex(3)
        try:
            current_run(self.path)
        except ValueError:
            self._lock.close()
            raise

    @property
    def inputs(self) -> Path:
        """Where converted inputs are kept."""
        return self.path / "inputs"

    @property
    def answers(self) -> Path:
        """Where the answers of models behind URLs are kept."""
        return self.path / "answers"

    @property
    def events_path(self) -> Path:
        """The log of events."""
        return self.path / "events.jsonl"

    def current(self) -> RunDirectory | None:
        """The directory of its run; None: there is none.

        Raises:
            RunLogError: It is gone.
        """
        return current_directory(self.path, self.driver)

    @contextmanager
    def new_run(self) -> Generator[RunDirectory]:
        """The directory of a new run, which takes the place of the current one when the block ends without an error."""
        directory = RunDirectory(self.path, secrets.token_hex(8), self.driver)
        directory.make()
        try:
            yield directory
        except BaseException:
            directory.remove()
            raise
        directory.sync()
        for name in ("events.jsonl", "quarantine.jsonl", "trace.jsonl"):
            self._store.delete(name)
        self._store.put(CURRENT, f"{directory.run}\n".encode())

    def other_runs(self) -> list[RunDirectory]:
        """Runs that were given up, or have not begun: nothing of them counts."""
        current = current_run(self.path)
        return [RunDirectory(self.path, name, self.driver) for name in self._store.list(RUNS) if name != current]

    def close(self) -> None:
        """Release the lock; the directory of a run that was refused before it began is removed."""
        if not (self.path / CURRENT).exists() and not self.inputs.exists():
            with suppress(OSError):
                shutil.rmtree(self.path / RUNS, ignore_errors=True)
                if all(path.is_file() and path.stat().st_size == 0 for path in self.path.iterdir()):
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
    LocalStore(path.parent).put(path.name, text.encode(errors="backslashreplace"))


SIGNATURES = ".signatures"


def signatures_path(part: Path) -> Path:
    """Where the signatures of a part's rows are."""
    return part.with_name(part.name + SIGNATURES)


def port_path(part: Path, port: str) -> Path:
    """Where the rows are that go out of another port than `out`."""
    stem = part.name.removesuffix(".jinx")
    return part.with_name(f"{stem}.{port}{part.name[len(stem) :]}")


def crash_note_path(part: Path) -> Path:
    """Where a worker says what it was busy with when it died."""
    return part.with_name(f"{part.name}.last-words")


def stop_path(part: Path) -> Path:
    """What a driver puts there to tell a worker on another machine that it wants the part no more."""
    return part.with_name(f"{part.name}.stop")


def remove_part(path: Path) -> None:
    """Remove a part in any of its forms: a directory, or a file with its sidecar."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
        path.with_suffix(".binx").unlink(missing_ok=True)
