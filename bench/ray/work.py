"""What workers of the experiments do."""

import os
import signal
import time
import zlib
from pathlib import Path
from typing import Any

from bench.ray.cluster import Workers
from jinx_pipeline.operators.batch import REMOVED, Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Mapper

BLOCK_ROWS = 10
# Blobs that are packed together.
PACK = 20


class Work:
    """What a worker does with a block of Ray Data, or with a sample of ours: sleep, and what goes wrong."""

    def __init__(self, folder: str, seconds: float, deadly: int = -1) -> None:
        self.folder = folder
        self.seconds = seconds
        self.deadly = deadly

    def sample(self, sample: Any) -> Any:
        """One sample."""
        self._do([sample["n"]])
        return sample

    def batch(self, batch: Any) -> Any:
        """One block."""
        self._do(batch["id"].tolist())
        return batch

    def _do(self, numbers: list[int]) -> None:
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


def _packed(blobs: list[Any]) -> tuple[list[int], list[int]]:
    """The checksum of each blob, and the length of the pack that they make."""
    checksums = [zlib.crc32(blob) for blob in blobs]
    return checksums, [len(b"".join(blobs))] * len(blobs)


class Packed(Mapper):
    """Ours: a row with the checksum and the length of the pack in place of each blob."""

    batch_size = PACK

    def process(self, batch: Batch, ctx: Context) -> dict[str, Any]:
        """One batch."""
        del ctx
        checksums, lengths = _packed(batch.column("blob"))
        return {"blob": [REMOVED] * len(batch), "crc": checksums, "pack": lengths}


def packed_table(table: Any) -> Any:
    """The same for Ray Data, without a copy of the blobs before they are packed."""
    import pyarrow as pa

    checksums, lengths = _packed([one.as_buffer() for one in table["blob"]])
    return pa.table({"n": table["n"], "crc": checksums, "pack": lengths})
