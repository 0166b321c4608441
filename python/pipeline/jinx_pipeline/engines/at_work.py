"""What a worker is busy with, where the driver still finds it when the worker has died."""

import mmap
import os

_BYTES = 256


class AtWork:
    """A name in memory that two processes share.

    Args:
        file: A descriptor of `shared_file`; it may be closed afterwards.
    """

    def __init__(self, file: int) -> None:
        self._memory = mmap.mmap(file, _BYTES)

    def set(self, name: str) -> None:
        """Say what begins now; nothing: the worker is between tasks."""
        data = name.encode()[: _BYTES - 1]
        # The length last: a name is never read in parts.
        self._memory[0] = 0
        self._memory[1 : 1 + len(data)] = data
        self._memory[0] = len(data)

    def get(self) -> str:
        """What was said last."""
        return self._memory[1 : 1 + self._memory[0]].decode(errors="replace")

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()


def shared_file() -> int:
    """A descriptor for `AtWork` that a child process can inherit."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("jinx-pipeline")
        os.truncate(file, _BYTES)
        return file
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.truncate(_BYTES)
        return os.dup(file.fileno())
