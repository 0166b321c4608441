"""The datasets of the experiments."""

import os
from pathlib import Path


def text_of(number: int) -> str:
    """A text that no other row has, and that is like no other."""
    return f"{number} " + " ".join(f"word{number * 31 + k}" for k in range(20))


def make_rows(path: Path, count: int, shard_bytes: int | None = None) -> Path:
    """Rows of a number and a text that no other row has; in a directory with shards of about `shard_bytes` each."""
    import jinx  # not where Data-Juicer is

    with jinx.Writer(path, shard_size=shard_bytes) as writer:
        writer.write_many({"n": n, "text": text_of(n)} for n in range(count))
    return path


def make_blobs(path: Path, count: int, size: int) -> Path:
    """Rows with bytes that do not compress."""
    import jinx

    with jinx.Writer(path) as writer:
        writer.write_many({"n": n, "blob": os.urandom(size)} for n in range(count))
    return path
