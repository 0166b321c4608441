"""What a worker is busy with, where the driver still finds it when the worker has died or hangs."""

import mmap
import os
import struct

_BYTES = 256
# How often something began, and the rows of what began last.
_STEP = struct.Struct("<QQ")
# The last tasks that the driver does not want any more; a worker has no more of them at a time.
_UNWANTED = struct.Struct("<qq")
_NAME = _STEP.size + _UNWANTED.size
# The exit code of a worker whose pipes an operator has closed.
PIPES_CLOSED = 4


class Activity:
    """A name in memory that two processes share.

    Args:
        file: A descriptor of `shared_file`; it may be closed afterwards.
    """

    def __init__(self, file: int) -> None:
        self._memory = mmap.mmap(file, _BYTES)
        self._steps = 0
        self._name = ""
        self._unwanted = (-1, -1)

    def set(self, name: str, rows: int = 0) -> None:
        """Say what begins now.

        Args:
            name: It; nothing: the worker is between tasks.
            rows: How many rows it is about, for the time that it may take; 0: any time.
        """
        self._steps += 1
        _STEP.pack_into(self._memory, 0, self._steps, rows)
        if name == self._name:
            return
        self._name = name
        data = name.encode()[: _BYTES - _NAME - 1]
        # The length last: a name is never read in parts.
        self._memory[_NAME] = 0
        self._memory[_NAME + 1 : _NAME + 1 + len(data)] = data
        self._memory[_NAME] = len(data)

    def get(self) -> str:
        """What was said last."""
        return self._memory[_NAME + 1 : _NAME + 1 + self._memory[_NAME]].decode(errors="replace")

    def step(self) -> tuple[int, int]:
        """A number that is another one as soon as something begins, and the rows of what began last."""
        count, rows = _STEP.unpack_from(self._memory, 0)
        return count, rows

    def tell_unwanted(self, attempt: int) -> None:
        """Say that a task is not wanted any more."""
        self._unwanted = (self._unwanted[1], attempt)
        _UNWANTED.pack_into(self._memory, _STEP.size, *(1 + one for one in self._unwanted))

    def is_unwanted(self, attempt: int) -> bool:
        """Whether that was said of a task."""
        return 1 + attempt in _UNWANTED.unpack_from(self._memory, _STEP.size)

    def close(self) -> None:
        """Give the memory back."""
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


def too_late(row_seconds: float, rows: int) -> str:
    """What is said of a worker that took longer than that for so many rows."""
    many = f" for each of {rows:,} rows" if rows > 1 else ""
    return f"no row was finished for {row_seconds * rows:g} s (row_seconds={row_seconds:g}{many})"
