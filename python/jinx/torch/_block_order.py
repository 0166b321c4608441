"""The order of an epoch in which neighbouring samples are read together: `shuffle="blocks"`."""

from typing import Any

import numpy as np

from jinx._core import Reader
from jinx._dataset.selection import BlockOrder, block_order


def required_order(shuffle: Any) -> bool:
    """Whether `shuffle` requests blocks.

    Raises:
        ValueError: It is another string.
    """
    if isinstance(shuffle, str) and shuffle != "blocks":
        raise ValueError(f"shuffle={shuffle!r}: give True, False or 'blocks'")
    return isinstance(shuffle, str)


def epoch_in_blocks(dataset: Reader, seed: int, epoch: int) -> BlockOrder:
    """The order of an epoch."""
    return block_order(dataset, np.random.Generator(np.random.PCG64([seed, epoch])))
