"""Options of glibc's allocator for this process."""

import ctypes
import os
from collections.abc import Mapping


def set_malloc_options(settings: Mapping[str, tuple[int, int]]) -> None:
    """Set options with `mallopt`.

    Nothing changes for other C libraries than glibc, and for options that the environment sets.

    Args:
        settings: For each environment variable of glibc, the number of the option in <malloc.h>, and its value.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        for variable, (number, value) in settings.items():
            if variable not in os.environ:
                mallopt(number, value)


def give_freed_memory_back() -> None:
    """Return the kept memory to the system, so that further growth shows in the size of this process."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
