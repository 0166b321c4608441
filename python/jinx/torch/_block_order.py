"""The order of an epoch whose neighbours are read together: `shuffle="blocks"`."""

from typing import Any

import numpy as np
import numpy.typing as npt

from jinx._core import Reader
from jinx._dataset.selection import block_order


def required_order(shuffle: Any) -> bool:
    """Whether `shuffle` asks for blocks.

    Raises:
        ValueError: It is another string.
    """
    if isinstance(shuffle, str) and shuffle != "blocks":
        raise ValueError(f"shuffle={shuffle!r}: give True, False or 'blocks'")
    return isinstance(shuffle, str)


def epoch_in_blocks(dataset: Reader, seed: int, epoch: int) -> npt.NDArray[np.int64]:
    """The positions of all samples in the order of an epoch; int64 of shape (n,)."""
    return block_order(dataset, np.random.Generator(np.random.PCG64([seed, epoch])))
