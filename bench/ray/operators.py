"""What our workers do in the experiments; the same as those of Ray Data in `bench.ray.work`."""

from dataclasses import asdict
from typing import Any

from bench.ray.work import BLOCK_ROWS, PACK, Work, packed
from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Mapper


class Working(Mapper):
    """`Work`, with its parameters."""

    batch_size = BLOCK_ROWS
    folder: str
    seconds: float
    deadly: int = -1

    def process(self, batch: Batch, ctx: Context) -> dict[str, Any]:
        """One batch."""
        del ctx
        Work(**self.parameters).do(batch.column("n"))
        return {}


def working(work: Work) -> Working:
    """The operator that does this work."""
    return Working(**asdict(work))


class Packed(Mapper):
    """A row with the checksum and the length of the pack in place of each blob."""

    batch_size = PACK

    def process(self, batch: Batch, ctx: Context) -> dict[str, Any]:
        """One batch."""
        del ctx
        checksums, lengths = packed(batch.column("blob"))
        return {"blob": [REMOVED] * len(batch), "crc": checksums, "pack": lengths}
