"""Returns large freed blocks to the system at once, so that the memory of one request is free for the next."""

from jinx._malloc import set_malloc_options

_SETTINGS = {
    # By default, glibc raises this threshold up to 32 MB when a block is freed, and then keeps freed blocks in its
    # heap.
    "MALLOC_MMAP_THRESHOLD_": (-3, 1 << 20),
    # By default, each thread that answers requests has a heap of its own, even while it waits.
    "MALLOC_ARENA_MAX": (-8, 2),
}


def keep_little_freed_memory() -> None:
    """Make this process keep little of the memory that it frees."""
    set_malloc_options(_SETTINGS)
