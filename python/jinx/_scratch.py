"""Hidden directories for what a command needs while it runs."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

from jinx import _core


@contextmanager
def scratch_directory(directory: str, name: str = "") -> Generator[str]:
    """A hidden directory that is gone at the end; `jinx clean` removes the one of a process that was killed.

    Args:
        directory: It is made in this one.
        name: What it is for: the output and a word. What a killed process left under this name is removed first, and
            two processes cannot use it at once. Without a name it is a new one.

    Raises:
        OSError: It cannot be made, or a living process uses the name.
    """
    work = _core.NewDirectory(os.path.join(directory, f".{name or uuid4().hex}"), overwrite=True)  # noqa: PTH118
    try:
        yield work.path
    finally:
        work.abort()
