"""What a worker of another machine was busy with when it died: a small file next to its part."""

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock, Thread

from jinx_pipeline.runlog.work_dir import crash_note_path
from jinx_pipeline.worker.activity import too_late
from jinx_pipeline.worker.memory import private_bytes

_WATCH_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class CrashNote:
    """What is known of a worker that died.

    Attributes:
        operator: What it was busy with.
        is_over_limit: Whether it has killed itself because it used more memory than it may.
        late: What is said of it if it has killed itself because it took longer than it may.
    """

    operator: str = ""
    is_over_limit: bool = False
    late: str = ""


def read_crash_note(part: str) -> CrashNote:
    """What the worker that was to write a part has left."""
    try:
        return CrashNote(**json.loads(crash_note_path(Path(part)).read_text("utf-8")))
    except (OSError, ValueError):
        return CrashNote()  # it had no time for any


class CrashReporter:
    """Leaves last words of this process."""

    def __init__(self) -> None:
        self._part = ""
        self._operator = ""
        self._tells_all = False
        self._rows, self._since = 0, time.monotonic()
        self._is_closed = False
        # So that no task is blamed for another, and nothing is written over the last words.
        self._lock = Lock()

    def begin(self, part: str, *, tells_all: bool) -> None:
        """A task begins.

        Args:
            part: What it is to write.
            tells_all: Whether each operator is written down at once, because this process may be killed at any time.
        """
        with self._lock:
            self._part, self._operator, self._tells_all = part, "", tells_all

    def busy_with(self, operator: str, rows: int = 0) -> None:
        """An operator begins with some rows, 0 if it may take any time; no name: the task has ended."""
        with self._lock:
            is_new = operator != self._operator
            self._operator, self._rows, self._since = operator, rows, time.monotonic()
            if not operator:
                self._end()
            elif self._tells_all and is_new:
                self._tell(CrashNote(operator))

    def die_above(self, limit: int) -> None:
        """From now on, end this process when it uses more memory of its own than this for a task, in bytes."""
        Thread(target=self._watch, args=(limit,), daemon=True, name="jinx-memory").start()

    def die_after(self, row_seconds: float) -> None:
        """From now on, end this process when it takes longer than this for each row in its hands."""
        Thread(target=self._watch_time, args=(row_seconds,), daemon=True, name="jinx-time").start()

    def close(self) -> None:
        """Watch no more: another run has other limits."""
        self._is_closed = True

    def _watch_time(self, row_seconds: float) -> None:
        while not self._is_closed:
            with self._lock:
                is_late = self._rows and time.monotonic() - self._since > row_seconds * self._rows
                if is_late and self._part:
                    self._tell(CrashNote(self._operator, late=too_late(row_seconds, self._rows)))
                    os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(_WATCH_SECONDS)

    def _watch(self, limit: int) -> None:
        while not self._is_closed:
            if private_bytes(os.getpid()) > limit:
                with self._lock:
                    if self._part:  # between tasks, nobody would know why
                        self._tell(CrashNote(self._operator, is_over_limit=True))
                        os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(_WATCH_SECONDS)

    def _end(self) -> None:
        if self._tells_all:
            with suppress(OSError):
                crash_note_path(Path(self._part)).unlink(missing_ok=True)
        self._part = ""

    def _tell(self, words: CrashNote) -> None:
        # What cannot be written is not known; the task itself says what is wrong with the storage.
        with suppress(OSError):
            crash_note_path(Path(self._part)).write_text(json.dumps(asdict(words)), "utf-8")
