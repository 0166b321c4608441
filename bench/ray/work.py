"""What workers of the experiments do."""

import os
import signal
import time
import zlib
from pathlib import Path
from typing import Any

from bench.ray.cluster import Workers

BLOCK_ROWS = 10


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
