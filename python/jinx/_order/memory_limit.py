"""The memory limit of shuffling and sorting: the given one, or a share of the machine's or container's memory."""

import os

from jinx._arguments import require_type
from jinx._sizes import counted, natural_size, parse_size

# With less memory, so few samples are read at a time that a small dataset takes minutes.
LEAST_MEMORY = 1_000
_SHARE = 4
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_bound(memory: int | str | None) -> int:
    """Bytes of `memory`, or a quarter of the memory of this machine or its container.

    Raises:
        ValueError: `memory` is not a size, or too small.
    """
    require_type("memory", memory, int | str | None)
    if memory is None:
        return max(_available() // _SHARE, LEAST_MEMORY)
    size = parse_size(memory)
    if size < LEAST_MEMORY:
        number = str(memory).strip()
        meant = f"; did you mean {number}GB?" if number.isdecimal() else ""
        raise ValueError(
            f"memory={number} is {counted(size, 'byte')}, and at least {natural_size(LEAST_MEMORY)} are needed{meant}"
        )
    return size


def _available() -> int:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _CGROUP_LIMITS:
        try:
            with open(path, encoding="ascii") as file:  # noqa: PTH123 - the kernel writes one line
                text = file.read().strip()
        except OSError:
            continue
        if text.isdecimal():  # "max": no limit
            total = min(total, int(text))
    return total
