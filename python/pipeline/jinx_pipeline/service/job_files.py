"""The files of a job, which alone determine its state.

job.json      what was asked for; written before the job is acknowledged
recipe.json   the recipe, with limits
lock          locked while the process of the job lives
pid           the id of that process
starts        a byte for each start
cancel        the process of the job is to end; perhaps with the reason, such as the time limit
exit.json     the end of the run
result.json, report.html, log.txt
work/         the working directory of the run
"""

import fcntl
import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from jinx_pipeline.publish.place import remove_hidden
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.runlog.run_directory import RUNS
from jinx_pipeline.runlog.work_dir import publish_text
from jinx_pipeline.service.run_progress import RunProgress
from jinx_pipeline.service.types import JobState

ENDED: Final = frozenset({"succeeded", "failed", "cancelled"})
# A job fails once its process has died this many times without a result.
MAX_STARTS: Final = 3


@dataclass(frozen=True)
class JobOrder:
    """The request for a job.

    Attributes:
        number: The place in the queue.
        plan: The id of the plan.
        created: When it was accepted, in seconds since 1970.
        key: The idempotency key of the request; None if it had none.
        reads: What it reads, by the client's names.
        writes: What it writes, by the client's names.
        outputs: The paths of the outputs.
        inputs: The inputs of the plan, as they must be when the job starts first.
    """

    number: int
    plan: str
    created: float
    key: str | None
    reads: list[str]
    writes: list[str]
    outputs: list[str]
    inputs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


class JobFiles:
    """A job in its directory.

    Args:
        directory: The directory; its name is the id of the job.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.id = directory.name
        self.progress = RunProgress(self.events_path)
        self.order = JobOrder(**json.loads((directory / "job.json").read_bytes()))

    @classmethod
    def create(cls, directory: Path, order: JobOrder, recipe: dict[str, Any]) -> "JobFiles":
        """Make the directory of a new job; it appears complete or not at all."""
        hidden = directory.with_name(f".{directory.name}")
        hidden.mkdir(parents=True)
        publish_text(hidden / "recipe.json", json.dumps(recipe))
        publish_text(hidden / "job.json", json.dumps(asdict(order)))
        hidden.rename(directory)
        _sync(directory.parent)
        return cls(directory)

    @property
    def work_dir(self) -> Path:
        """The working directory of the run."""
        return self.directory / "work"

    @property
    def events_path(self) -> Path:
        """The events of the run."""
        return self.work_dir / "events.jsonl"

    @property
    def state(self) -> JobState:
        """The state of the job, according to its files."""
        end = self.end()
        if end is not None:
            return "succeeded" if end["ok"] else "failed"
        reason = self._cancel_reason()
        is_cancelled = reason is not None
        if self.is_running():
            return "cancelling" if is_cancelled else "running"
        if self.end() is not None:  # the job ended between the two checks
            return self.state
        if not is_cancelled:
            return "queued"
        return "cancelling" if reason or self.work_dir.exists() else "cancelled"

    def end(self) -> dict[str, Any] | None:
        """How the run ended; None if it has not ended."""
        return self._read("exit.json")

    def result(self) -> dict[str, Any] | None:
        """The result of the run; None if there is none."""
        return self._read("result.json")

    def starts(self) -> int:
        """How many times the job was started."""
        try:
            return (self.directory / "starts").stat().st_size
        except FileNotFoundError:
            return 0

    def started(self) -> float | None:
        """When the job was last started."""
        try:
            return (self.directory / "starts").stat().st_mtime
        except FileNotFoundError:
            return None

    def ended(self) -> float | None:
        """When the job ended."""
        for name in ("exit.json", "cancel"):
            with suppress(FileNotFoundError):
                return (self.directory / name).stat().st_mtime
        return None

    def lock(self) -> int | None:
        """Lock the directory for a process to start; returns a descriptor. None if its process lives."""
        descriptor = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    def is_running(self) -> bool:
        """Whether the job's process is alive."""
        descriptor = self.lock()
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is None

    def pid(self) -> int | None:
        """The id of the job's process, which is valid only while the process lives."""
        with suppress(OSError, ValueError):
            return int((self.directory / "pid").read_text("ascii"))
        return None

    def note_start(self) -> None:
        """Count a start, and drop the record of an earlier process."""
        (self.directory / "pid").unlink(missing_ok=True)
        with (self.directory / "starts").open("ab") as file:
            file.write(b".")

    def ask_to_cancel(self, reason: str = "") -> None:
        """Record that the process should end, also for a server that starts later.

        Args:
            reason: Why the job has failed; empty if it was cancelled.
        """
        publish_text(self.directory / "cancel", reason)

    def finish_cancelling(self) -> None:
        """Remove what the ended process of a cancelled job has left behind."""
        with suppress(FileNotFoundError):
            for run in (self.work_dir / RUNS).iterdir():
                for path in self.order.outputs:
                    remove_hidden(Export(path), run.name)
        shutil.rmtree(self.work_dir, ignore_errors=True)
        if reason := self._cancel_reason():
            self.fail(reason)

    def fail(self, error: str) -> None:
        """End the job as failed."""
        publish_text(self.directory / "exit.json", json.dumps({"ok": False, "error": error}))

    def _cancel_reason(self) -> str | None:
        try:
            return (self.directory / "cancel").read_text("utf-8")
        except FileNotFoundError:
            return None

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            return json.loads((self.directory / name).read_bytes())
        except FileNotFoundError:
            return None


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
