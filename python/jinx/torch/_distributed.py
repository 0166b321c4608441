"""The rank and world size of this process."""

import os

import torch


def rank_and_world(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Rank and world size: as given, else from torch.distributed, else from the environment, else 0 of 1.

    Raises:
        ValueError: Only one of them was given, the rank is not below the world size, or the environment
            holds no numbers.
    """
    if (rank is None) != (world_size is None):
        raise ValueError("give rank= and world_size= both, or neither")
    if rank is None or world_size is None:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        else:
            rank, world_size = _number("RANK", "0"), _number("WORLD_SIZE", "1")
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} of {world_size} does not exist; ranks count from 0")
    return rank, world_size


def _number(variable: str, default: str) -> int:
    text = os.environ.get(variable, default)
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the environment variable {variable}={text!r} is not a number") from None
