"""Writes files so that they appear complete or not at all."""

import json
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def published(path: str | os.PathLike[str]) -> Generator[str]:
    """Yield a temporary name to write to; the file is renamed to `path` when the block ends without an error."""
    target = Path(os.fsdecode(path))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".jinx-") as work:
        temporary = Path(work) / target.name
        yield str(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a value as a JSON file."""
    with published(path) as temporary:
        Path(temporary).write_text(json.dumps(value, indent=1) + "\n", "utf-8")
