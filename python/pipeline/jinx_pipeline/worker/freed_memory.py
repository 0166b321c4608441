"""Keeps freed memory for the next batch: returning pages and requesting new ones takes longer than reading a blob."""

from jinx._malloc import set_malloc_options

_SETTINGS = {
    # The maximum freed memory that a worker keeps between two batches.
    "MALLOC_TRIM_THRESHOLD_": (-1, 64 * 1024 * 1024),
    # glibc's maximum for this threshold; larger blocks are returned at once.
    "MALLOC_MMAP_THRESHOLD_": (-3, 32 * 1024 * 1024),
}


def keep_freed_memory() -> None:
    """Let this process keep some of the memory that it frees."""
    set_malloc_options(_SETTINGS)
