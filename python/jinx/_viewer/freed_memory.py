"""Gives large blocks of freed memory back at once, so that what one request needed is there for the next."""

from jinx._malloc import set_malloc_options

_SETTINGS = {
    # Without it, glibc keeps blocks of up to 32 MB once one of them was freed, in pieces between others.
    "MALLOC_MMAP_THRESHOLD_": (-3, 1 << 20),
    # Each thread that answers requests would have memory of its own, also when it waits.
    "MALLOC_ARENA_MAX": (-8, 2),
}


def keep_little_freed_memory() -> None:
    """Let this process keep little of the memory that it frees."""
    set_malloc_options(_SETTINGS)
