"""The progress of a run, from its events; each event is read once, however often clients ask."""

import json
import threading
from pathlib import Path
from typing import Final

from jinx_pipeline.service.types import Progress

_PART_BYTES: Final = 4 << 20


class RunProgress:
    """The progress of the blocks that a run began most recently.

    Args:
        events: The events of the run; the file may not exist yet.
    """

    def __init__(self, events: Path) -> None:
        self._events = events
        self._position = 0
        self._rows = self._done = self._kept = self._failed = 0
        self._lock = threading.Lock()

    def now(self) -> Progress | None:
        """The progress; None if nothing has begun."""
        with self._lock:
            try:
                self._read()
            except FileNotFoundError:
                return None
            return Progress(self._rows, min(self._done, self._rows), self._kept, self._failed)

    def _read(self) -> None:
        with self._events.open("rb") as file:
            if file.seek(0, 2) < self._position:  # the run was restarted
                self._position = self._failed = 0
            file.seek(self._position)
            while lines := file.read(_PART_BYTES).split(b"\n")[:-1]:
                for line in lines:
                    self._apply(line)
                    self._position += len(line) + 1
                file.seek(self._position)

    def _apply(self, line: bytes) -> None:
        event = json.loads(line)
        if event["kind"] == "blocks":
            self._rows, self._done, self._kept = event["rows"], 0, 0
        elif event["kind"] == "block":
            self._done += event["rows"]
            self._kept += event["rows_out"]
        elif event["kind"] == "bad_row":
            self._failed += 1
