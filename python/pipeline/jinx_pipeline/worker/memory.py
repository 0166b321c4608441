"""The memory of this machine or container, and the memory that processes use."""

from typing import TYPE_CHECKING

import psutil

from jinx._sizes import parse_size
from jinx_pipeline.worker.memory_cgroup import memory_limits

if TYPE_CHECKING:
    from jinx_pipeline.recipe.model import Options

# The share of a machine's memory for all workers together.
USABLE_SHARE = 0.9


def private_bytes(pid: int) -> int:
    """The resident memory of a process, without mapped files; 0 if the process is gone."""
    try:
        memory = psutil.Process(pid).memory_info()
    except psutil.Error:
        return 0
    # Only Linux reports shared memory.
    return memory.rss - getattr(memory, "shared", 0)


def memory_limit_message(limit: int) -> str:
    """The error message for a worker that was killed because it used more memory."""
    return f"killed: it used more than {limit:,} bytes of memory"


def usable_memory() -> int:
    """The memory of this machine or container, in bytes."""
    return min([psutil.virtual_memory().total, *(group.limit for group in memory_limits())])


def free_memory() -> int:
    """The free memory of this machine or container, in bytes."""
    return min([psutil.virtual_memory().available, *(group.free for group in memory_limits())])


def memory_share(options: "Options", workers: int) -> int:
    """The number of bytes that each of several workers may use."""
    if options.memory is not None:
        return parse_size(options.memory)
    return int(usable_memory() * USABLE_SHARE / workers)
