"""The working directory: its current run, files that runs share, and files for users.

CURRENT             the id of the run, replaced atomically when a run is started over
runs/<id>/          the run: its log, parts and decisions
inputs/             converted inputs, by content or by name and time; digests of large files
answers/            answers of models behind URLs, by URL and request
annotation/         questions to people and their answers, by node of the plan
events.jsonl        events, for users and monitoring
workers.log         the output of workers
quarantine.jsonl    rows on which something failed, written at the end
trace.jsonl         examples of the work of operators, written at the end
"""

import errno
import os
import secrets
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from jinx_pipeline.runlog.run_directory import (
    CURRENT,
    OLD_LAYOUT,
    RUNS,
    RunDirectory,
    current_directory,
    is_run_id,
    named_run,
)
from jinx_pipeline.store.file_lock import FileLock, LockedError
from jinx_pipeline.store.lease import Lease, lock_at
from jinx_pipeline.store.local_store import published
from jinx_pipeline.store.mirror import local, mirrored, object_store, patiently, remove_local, shown, url_of
from jinx_pipeline.store.mirror_store import store_at

if TYPE_CHECKING:
    from jinx_pipeline.store.store import Store

__all__ = ["SIGNATURES", "WorkDir", "crash_note_path", "publish_text", "published", "remove_part", "signatures_path"]

_LOCK = "lock"
_FOR_USERS = ("events.jsonl", "workers.log")
# The names that a run may leave behind. No single name shows that a directory is ours: many projects have `runs` and
# `inputs`.
_OWN_NAMES = frozenset(
    {_LOCK, CURRENT, RUNS, "inputs", "answers", "annotation", *_FOR_USERS, "quarantine.jsonl", "trace.jsonl"}
)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


class WorkDir:
    """A working directory, locked while it is open, so that two drivers never write the same output.

    Args:
        path: The directory, or the URL of a prefix in an object store; it is created if it does not exist.

    Raises:
        RuntimeError: Another process has it open.
        ValueError: The directory holds files that do not belong to a run, or files of an earlier version.

    Attributes:
        path: The directory, absolute; a path in the mirror for a URL.
        driver: A random token for each process that opens it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = mirrored(os.fspath(path)).absolute()
        self._store: Store = store_at(self.path)
        foreign = self._foreign()
        if foreign is not None:
            raise ValueError(
                f"{shown(self.path)} is not the working directory of a run: it holds {foreign}; name another"
            )
        self._lock = _locked(self.path)
        self.driver = secrets.token_hex(3)
        try:
            named_run(self.path)
        except ValueError:
            self._lock.close()
            raise

    def _foreign(self) -> str | None:
        """A name that shows that the directory is not ours; None if it is ours, or empty."""
        names = self._store.list()
        if OLD_LAYOUT in names or (CURRENT in names and is_run_id(named_run(self.path) or "")):
            return None
        unknown = [name for name in names if not _is_own_name(name)]
        unknown += [f"{RUNS}/{name}" for name in self._store.list(RUNS) if not is_run_id(name)] if RUNS in names else []
        # Every run begins by creating the lock, which stays. Only in an object store is it removed.
        if names and not unknown and _LOCK not in names and url_of(self.path) is None:
            unknown = names
        return unknown[0] if unknown else None

    @property
    def inputs(self) -> Path:
        """The directory for converted inputs."""
        return self.path / "inputs"

    @property
    def answers(self) -> Path:
        """The directory for answers of models behind URLs."""
        return self.path / "answers"

    @property
    def annotations(self) -> Path:
        """The directory for questions to people and their answers; no run removes it."""
        return self.path / "annotation"

    @property
    def events_path(self) -> Path:
        """The log of events."""
        return self.path / "events.jsonl"

    def current(self) -> RunDirectory | None:
        """The directory of the current run; None if there is no run.

        Raises:
            RunLogError: The log of the run is gone, or the file with the id of the run is damaged.
        """
        return current_directory(self.path, self.driver)

    @contextmanager
    def new_run(self) -> Generator[RunDirectory]:
        """The directory of a new run, which replaces the current run when the block ends without an error."""
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
        """Runs that do not count because they were abandoned or never began."""
        current = named_run(self.path)
        names = [name for name in self._store.list(RUNS) if name != current and is_run_id(name)]
        return [RunDirectory(self.path, name, self.driver) for name in names]

    def close(self) -> None:
        """Release the lock; the directory is removed if its run was refused before it began."""
        try:
            if url_of(self.path) is not None:
                self._close_mirror()
            elif not (self.path / CURRENT).exists() and not self.inputs.exists():
                with suppress(OSError):
                    for directory in self.other_runs():
                        shutil.rmtree(directory.path, ignore_errors=True)
                    with suppress(FileNotFoundError):
                        (self.path / RUNS).rmdir()
                    if all(path.is_file() and path.stat().st_size == 0 for path in self.path.iterdir()):
                        shutil.rmtree(self.path)
        finally:
            self._lock.close()

    def _close_mirror(self) -> None:
        """Store the files for users, and free space on this node's disk."""
        for name in _FOR_USERS:
            if (self.path / name).exists():
                # Try only once: if the store fails, the run has already waited for it.
                with suppress(OSError):
                    object_store().put_file(str(url_of(self.path / name)), self.path / name)
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            error.filename = str(self.path)  # write errors do not name the file
        self.close()


def _is_own_name(name: str) -> bool:
    """Whether a run, finished or not, may have left a file or directory with this name."""
    finished = name.removeprefix(".").removesuffix(".tmp") if name.startswith(".") else name
    return finished in _OWN_NAMES or finished.startswith("workers.log.")


def _locked(path: Path) -> FileLock | Lease:
    while True:
        path.mkdir(parents=True, exist_ok=True)
        try:
            return lock_at(path / _LOCK)
        except LockedError:
            raise RuntimeError(f"{shown(path)}: another process runs this pipeline; wait for it, or stop it") from None
        except FileNotFoundError:
            continue  # another process has removed the directory of a refused run


def publish_text(path: Path, text: str, *, syncs_folder: bool = True) -> None:
    """Write a small file atomically; characters that UTF-8 cannot encode are written with a backslash."""
    with published(path, syncs_folder=syncs_folder) as file:
        file.write(text.encode(errors="backslashreplace"))


SIGNATURES = ".signatures"


def signatures_path(part: Path) -> Path:
    """The path of the signatures of a part's rows."""
    return part.with_name(part.name + SIGNATURES)


def media_path(part: Path) -> Path:
    """The path of the states of the media files that were read for a part."""
    return part.with_name(f"{part.name}.media")


def port_path(part: Path, port: str) -> Path:
    """The path of the rows at a port other than `out`."""
    stem = part.name.removesuffix(".jinx")
    return part.with_name(f"{stem}.{port}{part.name[len(stem) :]}")


def lane_path(part: Path, lane: int) -> Path:
    """The path of the rows of a lane, given that of the first lane."""
    return port_path(part, f"lane{lane}") if lane else part


def crash_note_path(part: Path) -> Path:
    """The path of a worker's note about its last activity."""
    return part.with_name(f"{part.name}.last-words")


def stop_path(part: Path) -> Path:
    """The path of the file with which a driver cancels the task of a remote worker that writes the part."""
    return part.with_name(f"{part.name}.stop")


def remove_part(path: Path) -> None:
    """Remove a part in any of its forms: a directory, or a file with its sidecar."""
    remove_local(local(path))
    url = url_of(path)
    if url is not None:
        is_file = path.name.endswith((".jinx", ".media", SIGNATURES))
        below = [] if is_file else [info.url for info in patiently(lambda: object_store().list(url))]
        names = below or [url, f"{url.removesuffix('.jinx')}.binx"]
        patiently(lambda: object_store().delete(*names))


def remove_parts(paths: Sequence[Path]) -> None:
    """Remove several parts; in an object store, with one listing of their directory."""
    folder = url_of(paths[0].parent) if paths else None
    if folder is None:
        for path in paths:
            remove_part(path)
        return
    for path in paths:
        remove_local(local(path))
    names = {name for path in paths for name in (path.name, f"{path.name.removesuffix('.jinx')}.binx")}
    listed = [info.url for info in patiently(lambda: object_store().list(folder))]
    removed = [url for url in listed if url.removeprefix(f"{folder}/").partition("/")[0] in names]
    patiently(lambda: object_store().delete(*removed))
