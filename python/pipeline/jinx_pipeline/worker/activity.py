"""The current activity of a worker, in shared memory: the driver reads it even when the worker hangs or is dead."""

import mmap
import os
import struct
from time import monotonic
from typing import Final

# How often workers are watched.
WATCH_SECONDS: Final = 0.1
_BYTES = 256
# The number of activities begun so far, and the rows of the latest one.
_STEP = struct.Struct("<QQ")
# The last two attempts that the driver has cancelled; a worker never has more at once.
_UNWANTED = struct.Struct("<qq")
_NAME = _STEP.size + _UNWANTED.size
# The exit code of a worker whose pipes an operator has closed.
PIPES_CLOSED = 4


class Stopwatch:
    """The time since the last look at a worker.

    After a long time, only part of it counts: if this process was stopped, the worker may have been, too.

    Args:
        most_seconds: The longest time that counts.
    """

    def __init__(self, most_seconds: float) -> None:
        self._most_seconds = most_seconds
        self.restart()

    def restart(self) -> None:
        """Look now."""
        self._last_look = monotonic()

    @property
    def seconds(self) -> float:
        """The time that counts."""
        return min(monotonic() - self._last_look, self._most_seconds)

    def lap(self) -> float:
        """Look now; returns the time that counts since the last look."""
        seconds = self.seconds
        self.restart()
        return seconds


class Activity:
    """The name of an activity in memory that two processes share.

    Args:
        file: A descriptor from `shared_file`; the caller may close it afterwards.
    """

    def __init__(self, file: int) -> None:
        self._memory = mmap.mmap(file, _BYTES)
        self._steps = 0
        self._name = ""
        self._unwanted = (-1, -1)

    def set(self, name: str, rows: int = 0) -> None:
        """Set the activity that begins now.

        Args:
            name: Its name; empty if the worker is between tasks.
            rows: How many rows it processes, which sets its time limit; 0 for no limit.
        """
        self._steps += 1
        _STEP.pack_into(self._memory, 0, self._steps, rows)
        if name == self._name:
            return
        self._name = name
        data = name.encode()[: _BYTES - _NAME - 1]
        # The length is written last, so that a name is never read in part.
        self._memory[_NAME] = 0
        self._memory[_NAME + 1 : _NAME + 1 + len(data)] = data
        self._memory[_NAME] = len(data)

    def get(self) -> str:
        """The name that was set last."""
        return self._memory[_NAME + 1 : _NAME + 1 + self._memory[_NAME]].decode(errors="replace")

    def step(self) -> tuple[int, int]:
        """A counter that changes when an activity begins, and the number of rows of the latest activity."""
        count, rows = _STEP.unpack_from(self._memory, 0)
        return count, rows

    def mark_unwanted(self, attempt: int) -> None:
        """Mark an attempt as cancelled."""
        self._unwanted = (self._unwanted[1], attempt)
        _UNWANTED.pack_into(self._memory, _STEP.size, *(1 + number for number in self._unwanted))

    def is_unwanted(self, attempt: int) -> bool:
        """Whether an attempt is marked as cancelled."""
        return 1 + attempt in _UNWANTED.unpack_from(self._memory, _STEP.size)

    def close(self) -> None:
        """Release the memory."""
        self._memory.close()


def shared_file() -> int:
    """A descriptor for `Activity` that a child process can inherit."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("jinx-pipeline")
        os.truncate(file, _BYTES)
        return file
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.truncate(_BYTES)
        return os.dup(file.fileno())


def timeout_message(row_seconds: float, rows: int) -> str:
    """The error message for a worker that exceeded `row_seconds` for each of its rows."""
    row_count = f" for each of {rows:,} rows" if rows > 1 else ""
    return f"no row was finished for {row_seconds * rows:g} s (row_seconds={row_seconds:g}{row_count})"
