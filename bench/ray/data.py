"""The datasets of the experiments."""

import os
from pathlib import Path

import jinx


def make_rows(path: Path, count: int) -> Path:
    """Rows of a number and a text that no other row has."""
    with jinx.Writer(path) as writer:
        writer.write_many(
            {"n": n, "text": f"{n} " + " ".join(f"word{n * 31 + k}" for k in range(20))} for n in range(count)
        )
    return path


def make_blobs(path: Path, count: int, size: int) -> Path:
    """Rows with bytes that do not compress."""
    with jinx.Writer(path) as writer:
        writer.write_many({"n": n, "blob": os.urandom(size)} for n in range(count))
    return path
