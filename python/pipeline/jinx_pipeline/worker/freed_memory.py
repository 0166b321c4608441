"""Freed memory is kept for the next batch: to give pages back and ask for others takes longer than to read a blob."""

import ctypes
import os

# By the variable with which a user sets it: its number in <malloc.h>, and bytes.
_SETTINGS = {
    # The most that stays with a worker between two batches.
    "MALLOC_TRIM_THRESHOLD_": (-1, 64 * 1024 * 1024),
    # The most that glibc allows; what is larger is given back at once.
    "MALLOC_MMAP_THRESHOLD_": (-3, 32 * 1024 * 1024),
}

_LIBRARY = ctypes.CDLL(None)


def keep_freed_memory() -> None:
    """Let this process keep some of the memory that it frees.

    Other C libraries than glibc, and what the environment sets, stay as they are.
    """
    mallopt = getattr(_LIBRARY, "mallopt", None)
    if mallopt is not None:
        for variable, (number, size) in _SETTINGS.items():
            if variable not in os.environ:
                mallopt(number, size)


def give_freed_memory_back() -> None:
    """Give what is kept back to the system, so that the next growth of this process shows in its size."""
    malloc_trim = getattr(_LIBRARY, "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
