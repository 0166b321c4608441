"""What workers of the experiments do with rows, and how those of Ray Data are told."""

import os
import signal
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.ray.signs import Workers

BLOCK_ROWS = 10
# Blobs that are packed together.
PACK = 20


@dataclass(frozen=True)
class Work:
    """Sleep, and what goes wrong.

    Attributes:
        folder: Where workers leave a sign.
        seconds: For a block.
        deadly: The row that ends the process.
    """

    folder: str
    seconds: float
    deadly: int = -1

    def batch(self, batch: Any) -> Any:
        """One block of Ray Data."""
        self.do(batch["id"].tolist())
        return batch

    def do(self, numbers: list[int]) -> None:
        """Work on some rows."""
        Workers(Path(self.folder)).sign(len(numbers))
        time.sleep(self.seconds * len(numbers) / BLOCK_ROWS)
        if self.deadly in numbers:
            os.kill(os.getpid(), signal.SIGSEGV)


class WorkOfActor:
    """The same for actors of Ray Data, which are made of a class."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __call__(self, batch: Any) -> Any:
        """One block."""
        return self._work.batch(batch)


def unchanged(batch: Any) -> Any:
    """A block as it is."""
    return batch


def checked(sample: Any) -> Any:
    """A sample with the checksum of its blob."""
    return {**sample, "crc": zlib.crc32(sample["blob"])}


def packed(blobs: list[Any]) -> tuple[list[int], list[int]]:
    """The checksum of each blob, and the length of the pack that they make."""
    checksums = [zlib.crc32(blob) for blob in blobs]
    return checksums, [len(b"".join(blobs))] * len(blobs)


def packed_table(table: Any) -> Any:
    """The same of a table of Ray Data, without a copy of the blobs before they are packed."""
    import pyarrow as pa

    checksums, lengths = packed([blob.as_buffer() for blob in table["blob"]])
    return pa.table({"n": table["n"], "crc": checksums, "pack": lengths})
