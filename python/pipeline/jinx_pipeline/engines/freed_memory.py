"""Freed memory is kept for the next batch: to give pages back and ask for others takes longer than to read a blob."""

import ctypes

# Of <malloc.h>.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# The most that stays with a worker between two batches.
_KEPT_BYTES = 64 * 1024 * 1024
# The most that glibc allows.
_MAPPED_BYTES = 32 * 1024 * 1024


_LIBRARY = ctypes.CDLL(None)


def keep_freed_memory() -> None:
    """Let this process keep some of the memory that it frees; other C libraries than glibc stay as they are."""
    mallopt = getattr(_LIBRARY, "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)


def give_freed_memory_back() -> None:
    """Give what is kept back to the system, so that the next growth of this process shows in its size."""
    malloc_trim = getattr(_LIBRARY, "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
