"""Hidden temporary directories next to outputs, removed when a command ends."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

from jinx import _core


@contextmanager
def scratch_directory(directory: str, name: str = "") -> Generator[str]:
    """A hidden directory that is removed at the end; `jinx clean` removes those of killed processes.

    Args:
        directory: The parent directory.
        name: The name of the output and a word for the purpose. A directory that a killed process left under this name
            is removed first, and two processes cannot use the name at once. Without a name, a new one is chosen.

    Raises:
        OSError: The directory cannot be made, or another process uses the name; the message names the output.
    """
    hidden = os.path.join(directory, f".{name or uuid4().hex}")  # noqa: PTH118
    try:
        work = _core.NewDirectory(hidden, overwrite=True)
    except OSError as error:
        # Users know the name of the output, not of this directory.
        out = os.path.join(directory, os.path.splitext(name)[0])  # noqa: PTH118, PTH122
        if not name or not str(error).startswith(f"{hidden}: another process"):
            raise
        raise OSError(str(error).replace(hidden, out, 1)) from None
    try:
        yield work.path
    finally:
        work.abort()
