"""A note about the last activity of a remote worker that died: a small file next to its part."""

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock, Thread

from jinx_pipeline.runlog.work_dir import crash_note_path
from jinx_pipeline.store.mirror import fetched, object_store, url_of
from jinx_pipeline.worker.activity import WATCH_SECONDS, Stopwatch, timeout_message
from jinx_pipeline.worker.memory import private_bytes

# The thread that looks has nothing else to do, so after this long, this process was stopped.
_COUNTED_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class CrashNote:
    """The note that a worker wrote before it died.

    Attributes:
        operator: The operator that it ran.
        is_over_limit: Whether it killed itself because it exceeded its memory limit.
        late: The error message if it killed itself because it exceeded its time limit, otherwise empty.
    """

    operator: str = ""
    is_over_limit: bool = False
    late: str = ""


def read_crash_note(part: str) -> CrashNote:
    """The note of the worker that should have written a part."""
    try:
        return CrashNote(**json.loads(fetched(crash_note_path(Path(part))).read_text("utf-8")))
    except (OSError, ValueError):
        return CrashNote()  # the worker had no time to write a note


class CrashReporter:
    """Writes the crash note of this process."""

    def __init__(self) -> None:
        self._part = ""
        self._operator = ""
        self._writes_each = False
        self._rows, self._seconds = 0, 0.0
        self._stopwatch = Stopwatch(_COUNTED_SECONDS)
        self._is_closed = False
        # The lock ensures that the note blames the right task, and that no note is overwritten before the process dies.
        self._lock = Lock()

    def begin(self, part: str, *, writes_each: bool) -> None:
        """Begin a task.

        Args:
            part: The part that it writes.
            writes_each: Whether to write a note for each operator that begins, because this process may be killed at
                any time.
        """
        with self._lock:
            self._part, self._operator, self._writes_each = part, "", writes_each

    def busy_with(self, operator: str, rows: int = 0) -> None:
        """Begin an operator with a number of rows (0: no time limit); an empty name means that the task has ended."""
        with self._lock:
            is_new = operator != self._operator
            self._operator, self._rows, self._seconds = operator, rows, 0.0
            self._stopwatch.restart()
            if not operator:
                self._end()
            elif self._writes_each and is_new:
                self._write(CrashNote(operator))

    def die_above(self, limit: int) -> None:
        """From now on, kill this process if a task uses more private memory than this many bytes."""
        Thread(target=self._watch_memory, args=(limit,), daemon=True, name="jinx-memory").start()

    def die_after(self, row_seconds: float) -> None:
        """From now on, kill this process if its activity takes longer than this per row."""
        Thread(target=self._watch_time, args=(row_seconds,), daemon=True, name="jinx-time").start()

    def close(self) -> None:
        """Stop watching, because another run has other limits."""
        self._is_closed = True

    def _watch_time(self, row_seconds: float) -> None:
        while not self._is_closed:
            with self._lock:
                if self._is_late(row_seconds) and self._part:
                    self._write(CrashNote(self._operator, late=timeout_message(row_seconds, self._rows)))
                    os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(WATCH_SECONDS)

    def _is_late(self, row_seconds: float) -> bool:
        self._seconds += self._stopwatch.lap()
        return self._rows > 0 and self._seconds > row_seconds * self._rows

    def _watch_memory(self, limit: int) -> None:
        while not self._is_closed:
            if private_bytes(os.getpid()) > limit:
                with self._lock:
                    if self._part:  # between tasks, the note would belong to no task
                        self._write(CrashNote(self._operator, is_over_limit=True))
                        os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(WATCH_SECONDS)

    def _end(self) -> None:
        if self._writes_each:
            with suppress(OSError):
                crash_note_path(Path(self._part)).unlink(missing_ok=True)
        self._part = ""

    def _write(self, note: CrashNote) -> None:
        # If the storage fails, the task itself reports it.
        with suppress(OSError):
            path = crash_note_path(Path(self._part))
            path.write_text(json.dumps(asdict(note)), "utf-8")
            url = url_of(path)
            if url is not None:
                object_store().put_file(url, path)  # only once, because this process is about to die
