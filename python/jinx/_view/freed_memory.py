"""Gives large blocks of freed memory back at once, so that what one request needed is there for the next."""

import ctypes
import os

# For each environment variable of glibc, the number of the option in <malloc.h>, and its value.
_SETTINGS = {
    # Without it, glibc keeps blocks of up to 32 MB once one of them was freed, in pieces between others.
    "MALLOC_MMAP_THRESHOLD_": (-3, 1 << 20),
    # Each thread that answers requests would have memory of its own, also when it waits.
    "MALLOC_ARENA_MAX": (-8, 2),
}


def give_freed_memory_back() -> None:
    """Let this process keep little of the memory that it frees.

    Nothing changes for other C libraries than glibc, and for options that the environment sets.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        for variable, (number, value) in _SETTINGS.items():
            if variable not in os.environ:
                mallopt(number, value)
