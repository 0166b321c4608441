"""What a worker of another machine was busy with when it died: a small file next to its part."""

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock, Thread

from jinx_pipeline.commit.work_dir import last_words_path
from jinx_pipeline.engines.memory import private_bytes

_WATCH_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class LastWords:
    """What is known of a worker that died.

    Attributes:
        operator: What it was busy with.
        is_over_limit: Whether it has killed itself because it used more memory than it may.
    """

    operator: str = ""
    is_over_limit: bool = False


def last_words(part: str) -> LastWords:
    """What the worker that was to write a part has left."""
    try:
        return LastWords(**json.loads(last_words_path(Path(part)).read_text("utf-8")))
    except (OSError, ValueError):
        return LastWords()  # it had no time for any


class Teller:
    """Leaves last words of this process."""

    def __init__(self) -> None:
        self._part = ""
        self._operator = ""
        self._tells_all = False
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

    def busy_with(self, operator: str) -> None:
        """An operator begins; nothing: the task has ended, and the process lives."""
        with self._lock:
            self._operator = operator
            if not operator:
                self._end()
            elif self._tells_all:
                self._tell(LastWords(operator))

    def die_above(self, limit: int) -> None:
        """From now on, end this process when it uses more memory of its own than this for a task, in bytes."""
        Thread(target=self._watch, args=(limit,), daemon=True, name="jinx-memory").start()

    def _watch(self, limit: int) -> None:
        while True:
            if private_bytes(os.getpid()) > limit:
                with self._lock:
                    if self._part:  # between tasks, nobody would know why
                        self._tell(LastWords(self._operator, is_over_limit=True))
                        os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(_WATCH_SECONDS)

    def _end(self) -> None:
        if self._tells_all:
            with suppress(OSError):
                last_words_path(Path(self._part)).unlink(missing_ok=True)
        self._part = ""

    def _tell(self, words: LastWords) -> None:
        # What cannot be written is not known; the task itself says what is wrong with the storage.
        with suppress(OSError):
            last_words_path(Path(self._part)).write_text(json.dumps(asdict(words)), "utf-8")
