"""The memory limit of shuffling and sorting: as given, or a share of the memory of the machine or container."""

import os

from jinx._arguments import require_type
from jinx._sizes import parse_size

_SHARE = 4
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_bound(memory: int | str | None) -> int:
    """Bytes of `memory`, or a quarter of the memory of this machine or its container."""
    require_type("memory", memory, int | str | None)
    return parse_size(memory) if memory is not None else _available() // _SHARE


def _available() -> int:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _CGROUP_LIMITS:
        try:
            with open(path, encoding="ascii") as file:  # noqa: PTH123 - one line of the kernel's
                text = file.read().strip()
        except OSError:
            continue
        if text.isdecimal():  # "max": no limit
            total = min(total, int(text))
    return total
