"""The size of blocks, which depends only on the input, so that blocks are the same for any number of workers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jinx._sizes import natural_size

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BLOCK_BYTES: Final = 64_000_000
MAX_BLOCK_ROWS: Final = 20_000
# The minimum number of rows or bytes of a block: it costs more to hand out a smaller block than to process it.
MIN_BLOCK_ROWS: Final = 500
MIN_BLOCK_BYTES: Final = 1_000_000
# The minimum number of blocks, so that even a small input keeps all cores busy.
MIN_BLOCKS: Final = 64


@dataclass(frozen=True)
class SampleSize:
    """The mean size of a sample.

    Attributes:
        row_bytes: The size of the sample in the input itself.
        media_bytes: The size of its image, audio and video files that operators read.
    """

    row_bytes: float = 1.0
    media_bytes: float = 0.0

    @property
    def bytes(self) -> float:
        """The size of the sample with its media files."""
        return max(self.row_bytes + self.media_bytes, 1.0)


@dataclass(frozen=True)
class BlockSize:
    """The number of rows of a block.

    Attributes:
        rows: The number of rows; the last block may have fewer.
        reason: The readable reason.
    """

    rows: int
    reason: str


def block_size(rows: int, sample: SampleSize, option: int | None = None) -> BlockSize:
    """The size of blocks.

    Args:
        rows: The total number of rows.
        sample: The mean size of a row.
        option: The number of rows that the recipe requests.
    """
    if option is not None:
        return BlockSize(option, "set by block_rows")
    by_bytes = max(int(BLOCK_BYTES / sample.bytes), 1)
    least = min(MIN_BLOCK_ROWS, max(int(MIN_BLOCK_BYTES / sample.bytes), 1))
    for_all_cores = max(-(-rows // MIN_BLOCKS), least)
    block_rows = min(by_bytes, for_all_cores, MAX_BLOCK_ROWS)
    if block_rows == by_bytes:
        media = f", {natural_size(int(sample.media_bytes))} of it in media files" if sample.media_bytes else ""
        return BlockSize(
            block_rows, f"about {natural_size(BLOCK_BYTES)}, at {natural_size(int(sample.bytes))} a sample{media}"
        )
    reason = "small enough for all cores to have some" if block_rows == for_all_cores else "the most that a block has"
    return BlockSize(block_rows, reason)


def cut(rows: int, rows_per_block: int) -> list[int]:
    """Rows of each block."""
    return [min(rows_per_block, rows - first) for first in range(0, rows, rows_per_block)]


def cut_groups(bounds: "npt.NDArray[np.int64]", rows_per_block: int) -> list[int]:
    """The number of groups in each block: as many as fit into the rows of a block, but at least one.

    Args:
        bounds: The first row of each group among the rows of all groups, and the end; int64 of shape (groups + 1,).
        rows_per_block: Rows of a block.
    """
    return list(_groups_of_blocks(bounds, rows_per_block))


def _groups_of_blocks(bounds: "npt.NDArray[np.int64]", rows_per_block: int) -> Iterator[int]:
    first, groups = 0, len(bounds) - 1
    while first < groups:
        end = int(bounds.searchsorted(bounds[first] + rows_per_block, side="right")) - 1
        end = min(max(end, first + 1), first + rows_per_block)  # otherwise, many groups might be empty
        yield end - first
        first = end
